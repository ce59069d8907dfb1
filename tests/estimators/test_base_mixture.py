"""The labels of a base on their own, mixed with the candidates."""

import itertools

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import crbm
from crbm import metrics, persistence
from crbm.estimators import base_mixture
from crbm.estimators.base_mixture import BaseLabels
from crbm.types import Batch

RNG = np.random.default_rng(0)
BASE = LogisticRegression()
QUICK = {"n_epochs": 5, "n_hidden": 4, "random_state": 0}


def make_cases(n_cases, n_labels):
    """Labels that are independent given the inputs, so that sets hardly repeat."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_cases, 6))
    p = 1 / (1 + np.exp(-X @ rng.normal(size=(6, n_labels))))
    return X, (rng.random(p.shape) < p).astype(float)


@pytest.fixture(scope="module")
def unique():
    """A classifier of cases whose label sets hardly repeat, and new cases."""
    X, Y = make_cases(700, 14)
    fitted = crbm.HashCRBMClassifier(base=BASE, **QUICK | {"n_epochs": 30})
    return fitted.fit(X[:300], Y[:300]), X[300:], Y[300:]


@pytest.fixture(scope="module")
def small():
    """A classifier of three labels with a share of each part, and its cases."""
    X, Y = make_cases(200, 3)
    fitted = crbm.HashCRBMClassifier(base=BASE, prediction="mode", **QUICK).fit(X, Y)
    fitted.base_labels_ = BaseLabels(1.2, -0.1, share=0.3, power=0.8)
    return fitted, X[:20]


def test_sets_that_hardly_repeat_are_predicted_no_worse_than_by_the_base(unique):
    fitted, X, Y = unique
    odds = fitted.base_.log_odds(X)
    alone = metrics.label_log_loss(Y, 1 / (1 + np.exp(-odds)), least=1e-3)
    together = metrics.label_log_loss(Y, fitted.predict_proba(X), least=1e-3)
    assert together < alone + 0.002
    assert np.isfinite(fitted.score_samples(X, Y)).all()
    fitted.base_labels_, kept = BaseLabels(), fitted.base_labels_
    without = metrics.label_log_loss(Y, fitted.predict_proba(X), least=1e-3)
    fitted.base_labels_ = kept
    assert together < without - 0.01


def test_share_and_power_have_the_highest_held_out_likelihood():
    """Against a grid of both, by the definition of the mixture."""
    X, Y = make_cases(260, 6)
    fitted = crbm.HashCRBMClassifier(base=BASE, **QUICK).fit(X, Y)
    u = torch.cat([u for u, _ in fitted._pieces(X[:60])])
    v = torch.tensor(Y[:60])
    found = base_mixture.weigh(fitted, Batch(u, v))

    def loss(share, power):
        fitted.base_labels_ = found._replace(share=share, power=power)
        return -fitted.score_samples(X[:60], Y[:60]).mean()

    best = loss(found.share, found.power)
    grid = itertools.product((0.05, 0.2, 0.4, 0.6, 0.8, 0.95), (0.3, 0.6, 1.0, 1.8))
    assert best <= min(loss(*point) for point in grid) + 1e-6


def test_joint_and_answers_by_enumeration(small):
    fitted, X = small
    sets = np.array(list(itertools.product((0, 1), repeat=3)), dtype=float)
    u = torch.cat([u for u, _ in fitted._pieces(X)]).double()
    p = 1 / (1 + np.exp(-(1.2 * u[:, -3:].numpy() - 0.1)))
    product = np.stack([np.where(s > 0, p, 1 - p).prod(1) for s in sets])
    labels, fitted.base_labels_ = fitted.base_labels_, BaseLabels()
    with np.errstate(divide="ignore"):
        scores = [fitted.score_samples(X, np.tile(s, (20, 1))) for s in sets]
    table = np.exp(scores) ** 0.8
    fitted.base_labels_ = labels
    joint = 0.7 * table / table.sum(0) + 0.3 * product
    for s, expected in zip(sets, joint, strict=True):
        found = fitted.score_samples(X, np.tile(s, (20, 1)))
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-4)
    np.testing.assert_allclose(fitted.predict_proba(X), joint.T @ sets, rtol=1e-4)
    assert (fitted.predict(X) == sets[joint.argmax(0)]).all()
    best = fitted.predict_top_k(X, k=8)
    expected = np.sort(joint, axis=0)[::-1].T
    np.testing.assert_allclose(best.probability, expected, rtol=1e-4)
    known = np.full((20, 3), np.nan)
    known[:, 1] = 1
    given = joint * (sets[:, 1] == 1)[:, None] / joint[sets[:, 1] == 1].sum(0)
    np.testing.assert_allclose(
        fitted.predict_proba(X, known=known)[:, [0, 2]],
        (given.T @ sets)[:, [0, 2]],
        rtol=1e-4,
    )


def test_answers_for_f1_use_the_mixture(unique):
    fitted, X, Y = unique
    found = fitted.set_params(prediction="example_f1").predict(X)
    mode = fitted.set_params(prediction="mode").predict(X)
    fitted.set_params(prediction="marginals")
    assert metrics.example_f1(Y, found) > metrics.example_f1(Y, mode)


def test_without_held_out_cases_the_share_is_that_of_missed_sets():
    X, Y = make_cases(90, 3)
    fitted = crbm.HashCRBMClassifier(base=BASE, **QUICK).fit(X, Y)
    share = fitted.base_labels_.share
    assert share == pytest.approx(max(0.01, 1 - fitted.candidate_recall_))
    assert fitted.base_labels_.power == 1


def test_proposals_replace_the_labels_of_the_base():
    X, Y = make_cases(200, 6)
    fitted = crbm.HashCRBMClassifier(base=BASE, n_proposals=4, **QUICK).fit(X, Y)
    assert fitted.base_labels_.share == 0


def test_files_keep_the_share_and_earlier_ones_have_none(tmp_path, small):
    fitted, X = small
    path, earlier = tmp_path / "m.safetensors", tmp_path / "earlier.safetensors"
    fitted.save(path)
    loaded = crbm.load(path)
    assert loaded.base_labels_ == fitted.base_labels_
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    tensors, description = persistence.read(path)
    found = [part for part in _dicts(description) if "base_labels_" in part]
    assert len(found) == 1
    del found[0]["base_labels_"]
    persistence.write(earlier, tensors, description)
    assert crbm.load(earlier).base_labels_ == BaseLabels()


def _dicts(value):
    """All dictionaries inside plain data."""
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _dicts(each)


def test_unknown_labels_are_left_out_of_the_calibration():
    X, Y = make_cases(200, 3)
    Y[::7, 1] = np.nan
    base = DecisionTreeClassifier(max_depth=3, random_state=0)
    fitted = crbm.HashCRBMClassifier(base=base, **QUICK).fit(X, Y)
    assert 0 < fitted.base_labels_.share < 1
    assert np.isfinite(fitted.predict_proba(X)).all()


def test_class_weights_count_for_the_labels_of_the_base_too():
    X, Y = make_cases(200, 3)
    fits = [
        crbm.HashCRBMClassifier(base=BASE, class_weight=weight, **QUICK).fit(X, Y)
        for weight in (None, [3.0, 1.0, 1.0])
    ]
    for fitted in fits:
        fitted.base_labels_ = fitted.base_labels_._replace(share=1 - 1e-9)
    plain, weighted = (p / (1 - p) for p in (f.predict_proba(X) for f in fits))
    np.testing.assert_allclose(weighted, plain * [3, 1, 1], rtol=1e-4)
