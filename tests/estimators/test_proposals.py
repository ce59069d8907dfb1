"""Label sets beyond the candidates: a normalised joint with unseen answers."""

import itertools

import numpy as np
import pytest
import torch

import crbm
from crbm import metrics
from crbm.estimators import posteriors, proposals
from crbm.types import States


@pytest.fixture(scope="module")
def table():
    """Four labels, of which the first and second never come together in training."""
    X = np.random.default_rng(0).normal(size=(120, 3))
    weight = np.array([[1.0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    Y = (X @ weight > 0).astype(int)
    seen = ~((Y[:, 0] == 1) & (Y[:, 1] == 1))
    return X[seen], Y[seen], X[~seen], Y[~seen]


@pytest.fixture(scope="module")
def fitted(table):
    return crbm.HashCRBMClassifier(
        n_bits=2,
        radius=1,
        n_hidden=4,
        init_scale=0.5,
        base_measure="uniform",
        n_epochs=20,
        learning_rate=0.1,
        n_proposals=6,
        random_state=0,
    ).fit(*table[:2])


def everything(n):
    return np.array(list(itertools.product((0, 1), repeat=n)))


def test_the_joint_over_all_sets_sums_to_one(fitted, table):
    X = np.concatenate([table[0][:10], table[2][:10]])
    sets = everything(4)
    logs = np.stack(
        [fitted.score_samples(X, np.tile(each, (len(X), 1))) for each in sets], 1
    )
    np.testing.assert_allclose(np.exp(logs).sum(1), 1, rtol=1e-9)
    assert np.isfinite(logs).all()
    top = fitted.predict_top_k(X, k=16)
    assert (top.probability.sum(1) > 0.8).all()  # the others are not listed
    place = (top.labels @ [8, 4, 2, 1]).astype(int)
    listed = top.probability > 0
    expected = np.take_along_axis(np.exp(logs), place, 1)
    np.testing.assert_allclose(top.probability[listed], expected[listed], rtol=1e-6)


def test_the_candidates_keep_their_share(fitted, table):
    """Probabilities of candidates are those without proposals, times the recall.

    Where a case has no proposals, they lose only what all other sets get.
    """
    closed = crbm.HashCRBMClassifier(**fitted.get_params()).set_params(n_proposals=0)
    closed.fit(*table[:2])
    X, Y = table[0][:20], table[1][:20]
    share = min(fitted.candidate_recall_, 0.99)
    opened, before = fitted.score_samples(X, Y), closed.score_samples(X, Y)
    changed = np.isclose(opened - before, np.log(share))
    rest = 1 - posteriors.PROPOSAL_RECALL
    without = np.isclose(opened - before, np.log(1 - rest * (1 - share)))
    assert (changed | without | np.isclose(opened, before)).all()
    assert changed.any()
    np.testing.assert_allclose(fitted.predict_proba(X), closed.predict_proba(X))


def test_unseen_sets_become_possible(fitted, table):
    closed = crbm.HashCRBMClassifier(**fitted.get_params()).set_params(n_proposals=0)
    closed.fit(*table[:2])
    X, Y = table[2], table[3]
    assert metrics.impossible_share(closed.score_samples(X, Y)) == 1
    opened = fitted.score_samples(X, Y)
    assert metrics.impossible_share(opened) == 0
    assert np.isfinite(metrics.joint_log_loss(opened))


def test_proposals_have_the_share_that_held_out_cases_give_them(table, tmp_path):
    """The rest of it goes to sets that are not listed."""
    X, Y = (
        np.concatenate([table[0][:9], table[2]]),
        np.concatenate([table[1][:9], table[3]]),
    )
    options = {"n_bits": 2, "radius": 1, "n_epochs": 5, "learning_rate": 0.1}
    classifier = crbm.HashCRBMClassifier(
        **options, n_proposals=6, early_stopping=True, random_state=0
    ).fit(*table[:2], validation=(X, Y))
    closed = crbm.HashCRBMClassifier(
        **options, early_stopping=True, random_state=0
    ).fit(*table[:2], validation=(X, Y))
    missed = np.isinf(closed.score_samples(X, Y))
    n_candidates = sum(
        np.isfinite(closed.score_samples(X, np.tile(each, (len(X), 1)))).astype(int)
        for each in everything(4)
    )
    top = classifier.predict_top_k(X, k=16)
    listed = ((top.labels == Y[:, None]).all(-1) & (top.probability > 0)).any(1)
    assert 0 < missed.sum() < len(missed)
    expected = ((listed & missed).sum() + 1) / (missed.sum() + 2)
    assert classifier.proposal_recall_ == pytest.approx(expected)
    assert (listed & missed).any()
    classifier.save(tmp_path / "m.safetensors")
    assert crbm.load(tmp_path / "m.safetensors").proposal_recall_ == expected
    proposing = (top.probability > 0).sum(1) > n_candidates
    total = top.probability.sum(1)[proposing]
    share = max(1 - classifier.candidate_recall_, 0.01)
    np.testing.assert_allclose(total, 1 - share * (1 - expected), rtol=1e-5)


def test_unknown_labels_are_summed_out_of_all_sets(fitted, table):
    """Also over the sets that are not listed."""
    X, sets = table[2][:5], everything(4)
    for gone in ([0], [1, 3]):
        Y = np.tile(np.array([1.0, 1, 0, 1]), (5, 1))
        Y[:, gone] = np.nan
        agree = [
            s for s in sets if all(s[i] == Y[0, i] for i in range(4) if i not in gone)
        ]
        parts = [np.exp(fitted.score_samples(X, np.tile(s, (5, 1)))) for s in agree]
        found = np.exp(fitted.score_samples(X, Y))
        np.testing.assert_allclose(found, np.sum(parts, 0), rtol=1e-6)


def test_known_labels_hold_in_proposals(fitted, table):
    known = np.full((5, 4), np.nan)
    known[:, 0] = 1
    top = fitted.predict_top_k(table[2][:5], k=8, known=known)
    likely = top.probability > 0
    assert (top.labels[likely][:, 0] == 1).all()
    np.testing.assert_allclose(top.probability.sum(1), 1, rtol=1e-6)


def test_proposals_by_hand():
    sets = torch.tensor([[[1.0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]])
    weight = torch.tensor([[0.5, 0.3, 0.2]])
    found = proposals.propose(States(sets, weight), 8)
    expected = [
        [1, 1, 0, 0],  # the two likeliest labels: a candidate
        [1, 1, 1, 0],  # three, one and four of them
        [1, 0, 0, 0],
        [1, 1, 1, 1],
        [1, 1, 1, 0],  # unions of candidates; the first is there already
        [1, 1, 0, 1],
        [1, 0, 1, 1],
    ]
    assert found.sets[0].tolist() == expected
    assert found.real[0].tolist() == [False, True, True, True, False, True, True]


def test_sizes_are_counted_with_smoothing():
    found = proposals.log_sizes(torch.tensor([1, 2]), torch.tensor([3.0, 1.0]), 2)
    assert found.exp().tolist() == pytest.approx([1 / 7, 4 / 7, 2 / 7])
