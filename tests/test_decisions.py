"""The best answers against a comparison of all answers, on joints small enough."""

import itertools
import sys

import numpy as np
import pytest
import torch

from crbm import decisions, metrics
from crbm.decisions import Joint

N_LABELS = 4
ALL_SETS = np.array(list(itertools.product((0, 1), repeat=N_LABELS)))


def f1(answer, truth):
    total = answer.sum() + truth.sum()
    return 2 * (answer & truth).sum() / total if total else 1.0


def overlap(answer, truth):
    union = (answer | truth).sum()
    return (answer & truth).sum() / union if union else 1.0


def exact_match(answer, truth):
    return float((answer == truth).all())


def right_labels(answer, truth):
    return (answer == truth).mean()


SCORES = {
    "example_f1": f1,
    "jaccard": overlap,
    "subset_accuracy": exact_match,
    "hamming": right_labels,
}


def probabilities(joint, case):
    """P(v) of all label sets, one by one."""
    table = np.asarray(joint.table)
    table = table[case] if table.ndim == 3 else table
    share = joint.share if joint.product is not None else 0.0
    share = np.broadcast_to(share, len(joint.weight))[case]
    result = []
    for v in ALL_SETS:
        listed = [
            w
            for w, s in zip(joint.weight[case], table, strict=True)
            if exact_match(s, v)
        ]
        chance = (1 - share) * sum(listed)
        if share:
            p = np.asarray(joint.product)[case]
            chance += share * np.prod(np.where(v == 1, p, 1 - p))
        result.append(chance)
    return np.array(result)


def expected_values(joint, case, score):
    """The expected score of every answer."""
    chance = probabilities(joint, case)
    return np.array(
        [
            sum(c * score(a, v) for c, v in zip(chance, ALL_SETS, strict=True))
            for a in ALL_SETS
        ]
    )


def some_joints():
    """Tables of few and many sets, shared or not, mixed with a product or not."""
    rng = np.random.default_rng(0)
    for trial in range(24):
        n_sets = int(rng.integers(1, 2**N_LABELS + 1))
        table = ALL_SETS[rng.permutation(2**N_LABELS)[:n_sets]]
        weight = rng.dirichlet(np.full(n_sets, (0.1, 1, 5)[trial % 3]), size=2)
        product = rng.random((2, N_LABELS)) ** 2
        if trial % 4 == 0:
            yield Joint(weight, table)
        elif trial % 4 == 1:
            yield Joint(weight, np.stack([table, table[::-1]]), product, 0.3)
        elif trial % 4 == 2:
            yield Joint(weight, table, product, np.array([0.2, 0.9]))
        else:
            yield Joint.independent(product)


def shortfall(joint, measure):
    """How far the answers are below the best ones in expectation."""
    answers = decisions.best(measure, joint)
    gaps = []
    for case, answer in enumerate(answers):
        values = expected_values(joint, case, SCORES[measure])
        place = (answer == ALL_SETS).all(1).argmax()
        gaps.append(values.max() - values[place])
    return max(gaps)


@pytest.mark.parametrize("measure", SCORES)
def test_no_answer_is_better_in_expectation(measure):
    assert max(shortfall(joint, measure) for joint in some_joints()) < 1e-9


def test_the_search_for_the_jaccard_index_finds_what_enumeration_finds(monkeypatch):
    """On these joints; in general it may miss an answer by a little."""
    module = sys.modules["crbm.decisions.overlap"]
    monkeypatch.setattr(module, "ENUMERABLE_LABELS", 0)
    assert max(shortfall(joint, "jaccard") for joint in some_joints()) < 1e-9


def test_the_jaccard_index_is_judged_by_the_likeliest_sets(monkeypatch):
    """With the two likeliest of three sets, the third one's label is not missed."""
    module = sys.modules["crbm.decisions.overlap"]
    monkeypatch.setattr(module, "MOST_SETS", 2)
    table = [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    answers = decisions.jaccard(Joint([[0.5, 0.4, 0.1]], table))
    assert answers.tolist() == [[True, False, False]]


def test_reweighting_multiplies_sets_by_the_weights_of_their_labels():
    weight = np.array([1, 4, 0.5, 2])
    for joint in some_joints():
        changed = decisions.reweight(joint, weight)
        changed = Joint(*(np.asarray(part) for part in changed[:2]), *changed[2:])
        for case in range(2):
            expected = probabilities(joint, case) * np.prod(weight**ALL_SETS, axis=1)
            found = probabilities(changed, case)
            np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-12)


@pytest.mark.parametrize("name", ["example_f1", "jaccard", "mode"])
def test_cases_in_pieces_get_the_same_answers(name, monkeypatch):
    rng = np.random.default_rng(1)
    table = ALL_SETS[rng.permutation(16)[:9]]
    joint = Joint(rng.dirichlet(np.ones(9), 40), table, rng.random((40, 4)), 0.2)
    expected = getattr(decisions, name)(joint)
    monkeypatch.setattr(sys.modules["crbm.decisions.joint"], "LARGEST_TABLE", 300)
    assert np.array_equal(getattr(decisions, name)(joint), expected)


def test_tensors_and_single_precision_are_taken_as_they_are():
    joint = Joint(torch.tensor([[0.25, 0.75]]), torch.tensor([[1, 1], [0, 1]]))
    assert decisions.marginals(joint).dtype == np.float32
    assert decisions.marginals(joint).tolist() == [[0.25, 1.0]]


def test_an_answer_may_have_more_labels_than_any_set():
    """Five disjoint pairs: F1 of all ten labels is 2 * 2 / 12 whichever is true."""
    table = np.repeat(np.eye(5), 2, axis=1)
    joint = Joint(np.full((1, 5), 0.2), table)
    assert decisions.example_f1(joint).all()


def test_many_independent_labels_by_simulation():
    """Answers of all sizes by marginals, judged by 4,000 draws: error below 0.007."""
    rng = np.random.default_rng(2)
    p = rng.random(40) ** 3
    draws = rng.random((4_000, 40)) < p
    order = np.argsort(-p)
    for name in ("example_f1", "jaccard"):
        score, values = getattr(metrics, name), []
        for k in range(41):
            answer = np.isin(np.arange(40), order[:k])
            values.append(score(draws, np.tile(answer, (4_000, 1))))
        answer = getattr(decisions, name)(Joint.independent(p[None]))[0]
        assert np.array_equal(answer, np.isin(np.arange(40), order[: answer.sum()]))
        assert values[answer.sum()] > max(values) - 0.007, name


def expected_f1(p, chosen):
    return 2 * p[chosen].sum() / (chosen.sum() + p.sum())


def test_expected_f1_thresholds_by_brute_force():
    rng = np.random.default_rng(3)
    p = rng.random((12, 3)) ** 4
    grid = np.linspace(0, 1, 2001)
    found = decisions.macro_f1_thresholds(p)
    for column, threshold in zip(p.T, found, strict=True):
        best = max(expected_f1(column, column > option) for option in grid)
        assert expected_f1(column, column > threshold) >= best - 1e-12
    threshold = decisions.micro_f1_threshold(p)
    best = max(expected_f1(p, p > option) for option in grid)
    assert expected_f1(p, p > threshold) >= best - 1e-12


def test_tuned_thresholds_by_brute_force():
    rng = np.random.default_rng(0)
    truth = (rng.random((40, 2)) < 0.3).astype(float)
    p = np.clip(truth * 0.3 + rng.random((40, 2)) * 0.5, 0, 1).round(2)
    truth[3, 0] = truth[5, 1] = np.nan
    for metric, score in (
        ("hamming", lambda t, g: -metrics.hamming_error(t, g)),
        ("macro_f1", metrics.macro_f1),
        ("micro_f1", metrics.micro_f1),
        ("subset_accuracy", metrics.subset_accuracy),
    ):
        found = score(truth, p > decisions.tuned_thresholds(metric, truth, p))
        pairs = itertools.product(np.linspace(0, 1, 26) + 0.005, repeat=2)
        options = [pair for pair in pairs if metric != "micro_f1" or pair[0] == pair[1]]
        best = max(score(truth, p > np.array(pair)) for pair in options)
        assert found >= best - 1e-9, metric


def test_a_half_is_the_threshold_where_it_is_as_good_as_any():
    truth = np.array([[0.0, 1.0], [1.0, np.nan], [0.0, np.nan]])
    p = np.array([[0.1, 0.0], [0.9, 0.2], [0.3, 0.3]])
    assert decisions.tuned_thresholds("hamming", truth, p).tolist() == [0.5, 0.5]
    unknown = np.full((3, 1), np.nan)
    assert decisions.tuned_thresholds("macro_f1", unknown, p[:, :1]).tolist() == [0.5]


def test_an_unknown_measure_is_refused():
    with pytest.raises(ValueError, match="`measure` must be one of"):
        decisions.best("f7", Joint([[1.0]], [[1, 0]]))
