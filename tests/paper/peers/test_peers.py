"""Opponents: what they compute, how they are tuned and read out."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from paper.engine.climbing import Axis
from paper.engine.judging import ANSWERS, measure
from paper.peers.kernels import SetSVM
from paper.peers.linear import ChainEnsemble, LogisticRegressions, solve
from paper.peers.readout import LabelReadout, SetReadout
from paper.peers.registry import PEERS
from paper.peers.tuning import Peer, split
from paper.tables.problems import Problem


def planted(n_cases=120, seed=0):
    """Four labels; the third follows the first two, the last never occurs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_cases, 5)).astype(np.float32)
    Y = (X[:, :4] + 0.3 * rng.normal(size=(n_cases, 4)) > 0).astype(np.uint8)
    Y[:, 2] = Y[:, 0] & Y[:, 1]
    Y[:, 3] = 0
    return X, Y


@pytest.fixture
def problem():
    return Problem(*planted(), *planted(60, seed=1))


def test_logistic_regressions_are_scikit_learns():
    X, Y = planted()
    weight, bias = solve(X, Y, C=0.5)
    for label in range(3):
        one = LogisticRegression(C=0.5, tol=1e-8, max_iter=1000).fit(X, Y[:, label])
        np.testing.assert_allclose(weight[:, label], one.coef_[0], atol=5e-3)
        np.testing.assert_allclose(bias[label], one.intercept_[0], atol=5e-3)
    # a label that never occurs: log-odds of 1 in 122
    np.testing.assert_allclose(expit(bias[3]), 1 / 122, rtol=1e-4)
    assert not weight[:, 3].any()


def test_a_chain_uses_the_labels_before_it_and_no_others():
    X, Y = planted()
    chains = ChainEnsemble(C=10.0, n_chains=2).fit(X, Y)
    for order, (weight, _) in zip(chains.orders, chains.chains, strict=True):
        for label in range(3):
            inputs = np.flatnonzero(weight[5:, label])
            earlier = order[: order.tolist().index(label)]
            assert set(inputs) <= set(earlier)
            assert set(inputs) >= set(earlier) - {3}  # which is constant


def test_the_readout_calibrates_scores_and_chooses_rules():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 3))
    Y = (rng.uniform(size=logits.shape) < expit(logits)).astype(np.uint8)
    readout = LabelReadout(np.zeros(3), np.unique(Y, axis=0)).fit(5 * logits - 1, Y)
    # the scores are overconfident and shifted; their sign is wrong near zero
    p = readout.probabilities(5 * logits - 1)
    np.testing.assert_allclose(p, expit(logits), atol=0.05)
    assert readout.rules["hamming"] != "sign"


def test_label_sets_that_were_not_seen_have_a_probability():
    table = np.array([[0, 1], [1, 0]])
    scores = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    truth = np.array([[0, 1], [1, 0], [1, 1]])
    readout = SetReadout(np.zeros(2), table).fit(scores, truth)
    assert readout.share == pytest.approx(2 / 5)
    weight, product = readout.joint(scores).weight, readout.joint(scores).product
    p = 0.4 * product[2].prod()
    q = 0.6 * weight[0, 0] + 0.4 * (1 - product[0, 0]) * product[0, 1]
    found = readout.forecast(scores[[2, 0]], truth[[2, 0]])
    assert found.nll == pytest.approx(-np.mean(np.log([p, q])))


def test_the_rarest_label_sets_are_left_out_of_the_machine(monkeypatch):
    monkeypatch.setattr("paper.peers.kernels.MOST_SETS", 2)
    X, Y = planted()
    sets, counts = np.unique(Y, axis=0, return_counts=True)
    frequent = sets[np.sort(np.argsort(-counts)[:2])]
    machine = SetSVM().fit(X, Y)
    np.testing.assert_array_equal(machine.table, frequent)
    assert machine.scores(X).shape == (len(X), 2)


def test_parameters_are_chosen_on_training_cases_of_other_groups(problem):
    groups = np.repeat(np.arange(12), 10)
    own, held = split(problem._replace(groups=groups), seed=0)
    rows = {row.tobytes(): g for row, g in zip(problem.X_train, groups, strict=True)}
    of_own, of_held = ({rows[x.tobytes()] for x in part.X} for part in (own, held))
    assert not of_own & of_held
    assert of_own | of_held == set(range(12))


def test_the_parameters_with_the_lowest_loss_are_taken(problem):
    axes = {"C": Axis([1e-6, 1e-3, 1.0], 1)}
    found = Peer(LogisticRegressions, axes).forecast(problem, seed=0)
    assert found.details["chosen"] == {"C": 1.0}
    assert found.details["edges"] == ["C"]


SMALL = {
    "random forest": {"n_estimators": 30},
    "extra trees": {"n_estimators": 30},
}


@pytest.mark.parametrize("name", PEERS)
def test_every_opponent_answers_better_than_chance(name, problem):
    peer = PEERS[name]
    if peer.missing:
        pytest.skip(peer.missing)
    one = {key: Axis([axis.values[axis.start]]) for key, axis in peer.axes.items()}
    make = peer.make

    def cheap(**params):
        return make(**{**params, **SMALL.get(name, {})})

    small = Peer(cheap, one, peer.loss)
    forecast = small.forecast(problem, seed=0)
    found = measure(forecast, problem.Y_test)
    assert set(forecast.answers) == set(ANSWERS)
    assert ((forecast.marginals >= 0) & (forecast.marginals <= 1)).all()
    base = measure(
        forecast._replace(
            answers={key: np.zeros_like(problem.Y_test) for key in ANSWERS}
        ),
        problem.Y_test,
    )
    assert found["hamming"] < 0.6 * base["hamming"]
    assert found["example_f1"] > base["example_f1"] + 20
    assert found["log_loss"] < 0.5


def test_a_missing_package_is_named():
    assert Peer(SetSVM, {}, package="no_such no-such").missing == "needs no-such"
    assert Peer(SetSVM, {}, package="numpy").missing == ""
    assert Peer(SetSVM, {}).missing == ""
