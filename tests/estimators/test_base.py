"""Log-odds of a scikit-learn classifier as inputs."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.tree import DecisionTreeClassifier

import crbm
from crbm.estimators.stacking import LEAST, Base, start
from crbm.models import CRBM

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = np.stack([X[:, 0] > 0, X[:, 0] > 0.2, X[:, 1] > 0], 1).astype(float)
BASES = [LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0)]
QUICK = {"n_epochs": 5, "n_hidden": 4, "random_state": 0}


class Memory(ClassifierMixin, BaseEstimator):
    """Sure of the label of each case that it has seen, and of none else."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.known_ = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
        return self

    def predict_proba(self, X):
        p = np.array([self.known_.get(row.tobytes(), 0.5) for row in X])
        return np.stack([1 - p, p], 1)


@pytest.mark.parametrize("base", BASES, ids=lambda b: type(b).__name__)
def test_log_odds_are_those_of_the_classifier(base):
    found = Base(base).fit(X, Y).log_odds(X)
    if isinstance(base, DecisionTreeClassifier):
        together = clone(base).fit(X, Y.astype(int)).predict_proba(X)
        p = np.stack([each[:, 1] for each in together], 1)
    else:
        alone = [clone(base).fit(X, y.astype(int)).predict_proba(X) for y in Y.T]
        p = np.stack([each[:, 1] for each in alone], 1)
    p = p.clip(LEAST, 1 - LEAST)
    np.testing.assert_allclose(found, np.log(p / (1 - p)))


def test_training_cases_are_judged_by_copies_that_did_not_see_them():
    """A base that remembers would say all there is; out of fold it knows nothing."""
    fitted = crbm.HashCRBMClassifier(base=Memory(), base_inputs="instead", **QUICK)
    seen = {}

    def look(batch, generator):
        seen.setdefault("u", batch.u)
        return batch

    fitted.fit(X, Y, augment=look)
    assert not seen["u"].any()
    assert np.abs(fitted.base_.log_odds(X)).min() > 6


@pytest.mark.parametrize("base", BASES, ids=lambda b: type(b).__name__)
@pytest.mark.parametrize("way", ["beside", "instead"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_joint_probabilities_and_known_labels(base, way, make):
    fitted = crbm.HashCRBMClassifier(base=base, base_inputs=way, **QUICK)
    fitted.fit(make(X), Y)
    p, few = fitted.predict_proba(make(X)), make(X[:5])
    sets = np.array(list(itertools.product((0, 1), repeat=3)))
    joint = np.exp([fitted.score_samples(few, np.tile(s, (5, 1))) for s in sets])
    np.testing.assert_allclose(joint.sum(0), 1, atol=1e-5)
    np.testing.assert_allclose(joint.T @ sets, p[:5], atol=1e-5)
    known = np.array([[0, np.nan, np.nan]] * 5)
    given = fitted.predict_proba(few, known=known)
    agrees = sets[:, 0] == 0
    expected = joint[agrees].T @ sets[agrees] / joint[agrees].sum(0)[:, None]
    np.testing.assert_allclose(given[:, 1:], expected[:, 1:], atol=1e-4)


def test_unknown_and_constant_labels():
    labels = Y.copy()
    labels[::5, 0], labels[:, 2] = np.nan, 1
    odds = Base(DecisionTreeClassifier(max_depth=2)).fit(X, labels).log_odds(X)
    assert np.allclose(odds[:, 2], np.log((1 - LEAST) / LEAST))
    fitted = crbm.HashCRBMClassifier(base=LogisticRegression(), **QUICK)
    assert (fitted.fit(X, labels).predict(X)[:, 2] == 1).all()


def test_training_starts_at_the_predictions_of_the_base():
    model = CRBM(n_inputs=5, n_visible=2, n_hidden=3)
    start(model, 2)
    assert model.weight_uv[-2:].tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"base": BernoulliNB}, TypeError, "must be a scikit-learn classifier"),
        ({"base": "forest"}, TypeError, "which lacks `fit`"),
        ({"base_inputs": "above"}, ValueError, "`base_inputs` must be one of"),
        ({"base": BernoulliNB(), "warm_start": True}, ValueError, "`warm_start`"),
    ],
)
def test_wrong_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        crbm.HashCRBMClassifier(**parameters, **QUICK).fit(X, Y)


def test_it_cannot_learn_in_parts_or_classes():
    fitted = crbm.HashCRBMClassifier(base=BernoulliNB(), **QUICK).fit(X, Y)
    with pytest.raises(ValueError, match="cannot learn in parts"):
        fitted.partial_fit(X, Y)
    with pytest.raises(ValueError, match="not for columns of classes"):
        clone(fitted).fit(X, np.arange(90) % 3)


def test_a_file_is_refused_with_what_to_do(tmp_path):
    fitted = crbm.HashCRBMClassifier(base=BernoulliNB(), **QUICK).fit(X, Y)
    with pytest.raises(ValueError, match=r"`base` .* cannot be saved"):
        fitted.save(tmp_path / "m.safetensors")
