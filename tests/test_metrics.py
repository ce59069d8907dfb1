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
    expected = peers.log_loss(TRUTH.ravel(), CHANCE.ravel())
    assert metrics.label_log_loss(TRUTH, CHANCE) == pytest.approx(expected)


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
    assert metrics.joint_log_loss([-np.inf, -1.0]) == np.inf


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"same shape; got \(50, 6\) and \(50, 5\)"):
        metrics.hamming_error(TRUTH, GUESS[:, :5])
