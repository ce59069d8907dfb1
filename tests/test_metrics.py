"""Metrics against scikit-learn's, and against counting by hand."""

import numpy as np
import pytest
import sklearn.metrics as peers
from scipy import sparse

from crbm import metrics

RNG = np.random.default_rng(0)
TRUTH = (RNG.random((50, 6)) < 0.4).astype(int)
GUESS = (RNG.random((50, 6)) < 0.4).astype(int)
CHANCE = RNG.random((50, 6))


def test_they_agree_with_scikit_learn_where_it_has_them():
    assert metrics.hamming_error(TRUTH, GUESS) == peers.hamming_loss(TRUTH, GUESS)
    assert metrics.subset_accuracy(TRUTH, GUESS) == peers.accuracy_score(TRUTH, GUESS)
    assert metrics.micro_f1(TRUTH, GUESS) == peers.f1_score(
        TRUTH, GUESS, average="micro"
    )
    assert metrics.macro_f1(TRUTH, GUESS) == peers.f1_score(
        TRUTH, GUESS, average="macro"
    )
    assert metrics.example_f1(TRUTH, GUESS) == pytest.approx(
        peers.f1_score(TRUTH, GUESS, average="samples", zero_division=1)
    )
    assert metrics.jaccard(TRUTH, GUESS) == pytest.approx(
        peers.jaccard_score(TRUTH, GUESS, average="samples", zero_division=1)
    )
    expected = peers.log_loss(TRUTH.ravel(), CHANCE.ravel())
    assert metrics.label_log_loss(TRUTH, CHANCE) == pytest.approx(expected)


@pytest.mark.parametrize("decimals", [1, 8], ids=["ties", "no ties"])
def test_rankings_agree_with_scikit_learn(decimals):
    scores = CHANCE.round(decimals)
    truth = np.vstack([TRUTH, np.zeros((1, 6)), np.ones((1, 6))])
    scores = np.vstack([scores, scores[:2]])
    assert metrics.average_precision(truth, scores) == pytest.approx(
        peers.label_ranking_average_precision_score(truth, scores)
    )
    assert metrics.ranking_loss(truth, scores) == pytest.approx(
        peers.label_ranking_loss(truth, scores)
    )


def test_precision_at_k_by_counting():
    expected = []
    for truth, scores in zip(TRUTH, CHANCE, strict=True):
        best = sorted(range(6), key=lambda label: -scores[label])[:3]
        expected.append(sum(truth[label] for label in best) / 3)
    assert metrics.precision_at_k(TRUTH, CHANCE, k=3) == pytest.approx(
        sum(expected) / len(expected)
    )
    assert metrics.precision_at_k([[0, 1]], [[0.5, 0.5]], k=1) == 0
    with pytest.raises(ValueError, match="`k` must be"):
        metrics.precision_at_k(TRUTH, CHANCE, k=0)


@pytest.mark.parametrize(
    "metric",
    [
        metrics.example_f1,
        metrics.jaccard,
        metrics.average_precision,
        metrics.ranking_loss,
        metrics.precision_at_k,
    ],
)
def test_unknown_labels_are_left_out_of_each_case(metric):
    """The mean over cases of the measure of their known labels."""
    truth = np.where(RNG.random(TRUTH.shape) < 0.4, np.nan, TRUTH)
    truth[0] = np.nan
    said = GUESS if metric in (metrics.example_f1, metrics.jaccard) else CHANCE
    known = ~np.isnan(truth)
    each = [
        metric(t[None, k], s[None, k])
        for t, s, k in zip(truth, said, known, strict=True)
        if k.any()
    ]
    assert metric(truth, said) == pytest.approx(np.mean(each))
    assert np.isnan(metric(truth[:1], said[:1]))


def test_an_empty_set_predicted_as_empty_is_right():
    assert metrics.example_f1([[0, 0]], [[0, 0]]) == 1
    assert metrics.jaccard([[0, 0]], [[0, 0]]) == 1
    assert metrics.example_f1([[0, 0]], [[1, 0]]) == 0
    assert metrics.jaccard([[1, 0]], [[0, 0]]) == 0


def test_sparse_matrices_count_as_dense_ones():
    found = metrics.hamming_error(sparse.csr_matrix(TRUTH), sparse.csr_matrix(GUESS))
    assert found == metrics.hamming_error(TRUTH, GUESS)


@pytest.mark.parametrize(
    "metric",
    [metrics.hamming_error, metrics.micro_f1, metrics.macro_f1, metrics.label_log_loss],
)
def test_unknown_labels_do_not_count(metric):
    """A column half unknown scores as the known half of it does."""
    truth = TRUTH[:, :1].astype(float)
    truth[25:] = np.nan
    assert metric(truth, GUESS[:, :1]) == pytest.approx(
        metric(TRUTH[:25, :1], GUESS[:25, :1])
    )


def test_unknown_labels_cannot_make_a_set_wrong():
    truth = np.array([[1, np.nan], [0, 1]])
    assert metrics.subset_accuracy(truth, [[1, 0], [1, 1]]) == 0.5


def test_all_and_changed_errors():
    clean = np.array([[1, 1, 0, 0], [0, 1, 1, 0]])
    noisy = np.array([[0, 1, 1, 0], [0, 0, 1, 0]])
    guess = np.array([[1, 1, 1, 0], [0, 0, 1, 1]])
    assert metrics.all_error(clean, guess) == 3 / 8
    assert metrics.changed_error(clean, guess, noisy) == 2 / 3
    assert metrics.changed_error(clean, noisy, noisy) == 1.0
    assert np.isnan(metrics.changed_error(clean, guess, clean))


def test_calibration_by_hand():
    truth = np.array([[1, 0, 1, 1]])
    said = np.array([[0.9, 0.2, 0.6, 0.3]])
    # two bins: {0.2, 0.3} observed 1/2, {0.9, 0.6} observed 1
    expected = (2 * abs(0.25 - 0.5) + 2 * abs(0.75 - 1)) / 4
    found = metrics.expected_calibration_error(truth, said, n_bins=2)
    assert found == pytest.approx(expected)


def test_perfect_forecasts_are_calibrated():
    """100,000 labels drawn with the said chances: the error is noise of 0.003."""
    said = np.random.default_rng(1).random((1000, 100))
    truth = np.random.default_rng(2).random(said.shape) < said
    assert metrics.expected_calibration_error(truth, said) < 0.01
    assert metrics.expected_calibration_error(truth, said**2) > 0.1


def test_joint_log_loss():
    assert metrics.joint_log_loss(np.log([0.5, 0.25])) == pytest.approx(1.5 * np.log(2))
    assert metrics.joint_log_loss([-np.inf, -1.0]) == 1
    assert metrics.impossible_share([-np.inf, -1.0]) == 0.5
    assert np.isnan(metrics.joint_log_loss([-np.inf]))


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"same shape; got \(50, 6\) and \(50, 5\)"):
        metrics.hamming_error(TRUTH, GUESS[:, :5])


MASKS = [RNG.integers(0, 3, (5, 4)), RNG.integers(0, 3, (3, 7))]
SAID = [RNG.integers(0, 3, (5, 4)), RNG.integers(0, 3, (3, 7))]


def overlaps(truth, said, classes):
    """Intersections and unions of the classes that occur, pixel by pixel."""
    pairs = list(zip(np.ravel(truth), np.ravel(said), strict=True))
    both = {c: sum(a == c and b == c for a, b in pairs) for c in classes}
    either = {c: sum(a == c or b == c for a, b in pairs) for c in classes}
    return [(both[c], either[c]) for c in classes if either[c]]


def flat(masks):
    return np.concatenate([mask.ravel() for mask in masks])


def test_iou_by_counting():
    each = [overlaps(*masks, range(3)) for masks in zip(MASKS, SAID, strict=True)]
    by_image = [np.mean([i / u for i, u in image]) for image in each]
    assert metrics.iou(MASKS, SAID) == pytest.approx(np.mean(by_image))
    pooled = overlaps(flat(MASKS), flat(SAID), range(3))
    found = metrics.iou(MASKS, SAID, average="class")
    assert found == pytest.approx(np.mean([i / u for i, u in pooled]))
    assert found == pytest.approx(
        peers.jaccard_score(flat(MASKS), flat(SAID), average="macro")
    )
    found = metrics.iou(MASKS, SAID, average="pixels")
    assert found == sum(i for i, _ in pooled) / sum(u for _, u in pooled)


def test_iou_of_two_classes_is_that_of_the_foreground():
    truth, said = (np.array(MASKS[0]) > 0), (np.array(SAID[0]) > 0)
    expected = (truth & said).sum() / (truth | said).sum()
    for average in ("image", "pixels", "class"):
        assert metrics.iou(truth, said, average) == pytest.approx(expected)
    assert metrics.iou(truth[None], said[None].tolist()) == pytest.approx(expected)
    both = metrics.iou(truth, said, "class", classes=[0, 1])
    outside = (~truth & ~said).sum() / (~truth | ~said).sum()
    assert both == pytest.approx((expected + outside) / 2)
    assert metrics.iou(np.zeros((2, 2)), np.zeros((2, 2))) == 1
    assert metrics.iou(np.zeros((2, 2)), np.ones((2, 2))) == 0


def test_iou_leaves_ignored_and_unknown_pixels_out():
    truth = np.array([[0.0, 1, 1, 255], [np.nan, 0, 1, 1]])
    said = np.array([[0, 1, 0, 1], [1, 0, 1, 1]])
    assert metrics.iou(truth, said, ignore=255) == 3 / 4


def test_iou_needs_masks_of_the_same_sizes():
    with pytest.raises(ValueError, match="equally many masks"):
        metrics.iou(MASKS, SAID[:1])
    with pytest.raises(ValueError, match="same shape"):
        metrics.iou(MASKS, SAID[::-1])
    with pytest.raises(ValueError, match=r"\(height, width\); got \(4,\)"):
        metrics.iou(MASKS[0][0], SAID[0][0])
    with pytest.raises(ValueError, match="`average` must be one of"):
        metrics.iou(MASKS, SAID, "micro")
