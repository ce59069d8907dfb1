"""Likely label sets given known labels: the whole law, cut down and rescaled."""

import numpy as np
import pytest

import crbm
from planted import copied_patterns

DATA = copied_patterns(120)
X, Y = DATA.u.numpy().astype(np.float64), DATA.v.numpy()
QUICK = {"n_epochs": 3, "random_state": 0}
CLASSIFIERS = {
    "logistic": crbm.LogisticClassifier(**QUICK),
    "crf": crbm.CRFClassifier(**QUICK, n_steps=5),
    "crbm": crbm.CRBMClassifier(**QUICK, n_hidden=8),
    "hash": crbm.HashCRBMClassifier(**QUICK, n_hidden=8),
}
N_SETS = 2 ** Y.shape[1]


def known_label(label, value):
    known = np.full((8, Y.shape[1]), np.nan)
    known[:, label] = value
    return known


def sets(top, case):
    """The possible sets of a case with their probabilities."""
    pairs = zip(top.labels[case], top.probability[case], strict=True)
    return [(labels, chance) for labels, chance in pairs if chance > 0]


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("value", [0, 1])
def test_known_labels_leave_the_sets_that_agree_rescaled(name, value):
    fitted = CLASSIFIERS[name].fit(X, Y)
    free = fitted.predict_top_k(X[:8], k=N_SETS)
    given = fitted.predict_top_k(X[:8], k=N_SETS, known=known_label(1, value))
    for case in range(8):
        left = {
            tuple(labels): chance
            for labels, chance in sets(free, case)
            if labels[1] == value
        }
        if not left:
            continue
        total = sum(left.values())
        for labels, chance in sets(given, case):
            expected = left.pop(tuple(labels), 0) / total
            assert chance == pytest.approx(expected, abs=1e-9)
        assert sum(left.values()) == pytest.approx(0, abs=1e-12)


def test_a_set_never_seen_can_be_told(monkeypatch):
    # more labels than are enumerated: only sets seen in training are compared
    monkeypatch.setattr(crbm.estimators.joint, "ENUMERABLE_LABELS", 3)
    fitted = crbm.CRFClassifier(**QUICK, n_steps=5).fit(X, Y)
    new = next(
        state for state in np.ndindex(*[2] * 6) if not np.equal(Y, state).all(1).any()
    )
    top = fitted.predict_top_k(X[:1], k=3, known=np.array([new], dtype=float))
    assert top.labels[0, 0].tolist() == list(new)
    assert top.probability[0].tolist() == pytest.approx([1, 0, 0])
    assert not top.labels[0, 1:].any()
