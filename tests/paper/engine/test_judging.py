"""Every measure of a forecast, against scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as reference

from crbm.decisions import Joint
from paper.engine import judging
from paper.engine.judging import Forecast, Thresholds


@pytest.fixture
def cases():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, size=(40, 5))
    return p, (rng.uniform(size=p.shape) < p).astype(np.uint8)


def forecast(p, truth):
    answers = judging.best_answers(Joint.independent(p), Thresholds.from_marginals(p))
    return Forecast(answers, p, judging.independent_nll(truth, p), {})


def test_measures_are_those_of_scikit_learn(cases):
    p, truth = cases
    found = judging.measure(forecast(p, truth), truth)
    rounded = p > 0.5
    assert found["hamming"] == pytest.approx(
        100 * reference.hamming_loss(truth, rounded)
    )
    assert found["subset"] == pytest.approx(
        100 * reference.accuracy_score(truth, rounded)
    )
    assert found["average_precision"] == pytest.approx(
        100 * reference.label_ranking_average_precision_score(truth, p)
    )
    assert found["ranking_loss"] == pytest.approx(
        100 * reference.label_ranking_loss(truth, p)
    )
    losses = [reference.log_loss(y, q) for y, q in zip(truth.T, p.T, strict=True)]
    assert found["log_loss"] == pytest.approx(np.mean(losses))
    assert found["nll"] == pytest.approx(np.sum(losses))


def test_each_measure_has_an_answer_of_its_own(cases):
    p, truth = cases
    low = p**4  # all labels are rare, so F1 needs thresholds below one half
    own = forecast(low, truth).answers
    assert set(own) == set(judging.ANSWERS)
    expected = {
        name: judging.SCORES[name](truth, own[name])
        for name in ("example_f1", "micro_f1", "macro_f1", "jaccard")
    }
    for name, score in expected.items():
        assert score > judging.SCORES[name](truth, own["hamming"])


def test_the_answer_for_whole_sets_is_the_mode():
    joint = Joint([[0.4, 0.3, 0.3]], [[0, 0], [1, 0], [1, 1]])
    answers = judging.best_answers(joint, Thresholds(0.5, np.full(2, 0.5)))
    assert answers["subset"].tolist() == [[False, False]]
    assert answers["hamming"].tolist() == [[True, False]]
