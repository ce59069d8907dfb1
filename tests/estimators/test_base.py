"""Log-odds of a scikit-learn classifier as inputs."""

import itertools

import numpy as np
import pytest
import skops.io
import torch
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.tree import DecisionTreeClassifier

import crbm
from crbm.estimators.stacking import LEAST, Base, start
from crbm.models import CRBM
from crbm.preprocessing.sklearn_parts import from_tensor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = np.stack([X[:, 0] > 0, X[:, 0] > 0.2, X[:, 1] > 0], 1).astype(float)
BASES = [LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0)]
QUICK = {"n_epochs": 5, "n_hidden": 4, "random_state": 0}


class Memory(ClassifierMixin, BaseEstimator):
    """Sure of the label of each case that it has seen, and of none else."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.known_ = {
            row.tobytes().hex(): label for row, label in zip(X, y, strict=True)
        }
        return self

    def predict_proba(self, X):
        p = np.array([self.known_.get(row.tobytes().hex(), 0.5) for row in X])
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


@pytest.mark.parametrize("way", ["beside", "instead"])
@pytest.mark.parametrize(
    "base",
    [
        *BASES,
        RandomForestClassifier(n_estimators=3, random_state=0),
        HistGradientBoostingClassifier(max_iter=3),
    ],
    ids=lambda b: type(b).__name__,
)
def test_a_file_keeps_the_base(base, way, tmp_path):
    fitted = crbm.HashCRBMClassifier(base=base, base_inputs=way, **QUICK).fit(X, Y)
    fitted.save(tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert repr(loaded.base) == repr(base)


def test_a_base_that_only_code_can_restore_is_not_saved(tmp_path):
    fitted = crbm.HashCRBMClassifier(base=Memory(), **QUICK).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"The `base` holds `[\w.]*test_base.Memory`, which"
    ):
        fitted.save(tmp_path / "m.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("node", [-7, 0, 99])
def test_trees_with_children_outside_are_refused(node):
    """Prediction would follow them without a check."""
    tree = DecisionTreeClassifier(max_depth=2).fit(X, Y[:, 0])
    tree.tree_.children_left[0] = node
    stored = torch.from_numpy(np.frombuffer(skops.io.dumps(tree), np.uint8).copy())
    with pytest.raises(ValueError, match="refers to nodes that it does not have"):
        from_tensor(stored, "the `base`")


def test_a_base_that_cannot_be_stored_at_all_is_not_saved():
    base = Base(Memory()).fit(X, Y)
    base.models[0].known_ = {b"bytes": 0.5}
    with pytest.raises(ValueError, match=r"The `base` cannot be stored: .*not bytes"):
        base.to_tensor()


def test_a_stored_base_of_another_kind_is_refused(tmp_path):
    fitted = crbm.HashCRBMClassifier(base=BernoulliNB(), **QUICK).fit(X, Y)
    path = tmp_path / "m.safetensors"
    for wrong in (
        Memory().fit(X, Y[:, 0]),
        {"a": 1},
        Base(BernoulliNB()).fit(X, Y[:, :2]),
    ):
        stored = skops.io.dumps(vars(wrong) if isinstance(wrong, Base) else wrong)
        other = torch.from_numpy(np.frombuffer(stored, np.uint8).copy())
        fitted.base_.to_tensor = lambda other=other: other
        fitted.save(path)
        with pytest.raises(ValueError, match="does not hold a whole classifier"):
            crbm.load(path)
