"""scikit-learn's contract, for all classifiers."""

import pickle
from inspect import isabstract

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import crbm
from crbm.estimators import LabelSetClassifier

# scaling does not know `sample_weight`, so that weights are not copies with it
RAW = {"preprocessing": "none", "batch_size": 256, "learning_rate": 1.0}
CLASSIFIERS = [
    crbm.LogisticClassifier(**RAW, n_epochs=40),
    crbm.CRFClassifier(**RAW, n_epochs=30, n_steps=10),
    crbm.CRBMClassifier(**RAW, objective="exact", n_epochs=30, n_hidden=16),
    crbm.HashCRBMClassifier(**RAW, n_epochs=30, n_hidden=16),
    crbm.AutoClassifier(members=["forest"]),
]
QUICK = [
    crbm.AutoClassifier(members=["forest", "logistic, linear"], random_state=0),
    crbm.LogisticClassifier(n_epochs=5, random_state=0),
    crbm.CRFClassifier(n_epochs=2, n_steps=5, random_state=0),
    crbm.CRBMClassifier(n_epochs=2, n_hidden=8, random_state=0),
    crbm.CRBMClassifier(
        objective="cd", inference="loopy_bp", n_epochs=2, n_hidden=8, random_state=0
    ),
    crbm.HashCRBMClassifier(n_epochs=5, n_hidden=8, n_estimators=2, random_state=0),
]
# A classifier that is listed nowhere above is tested with its defaults.
for kind in LabelSetClassifier.registry.values():
    if kind.__module__.startswith("crbm.") and not isabstract(kind):
        for listed in (CLASSIFIERS, QUICK):
            if kind not in map(type, listed):
                listed.append(kind())
X, Y = make_multilabel_classification(80, n_features=12, n_classes=4, random_state=0)


def name_of(classifier):
    return f"{type(classifier).__name__}-{getattr(classifier, 'objective', '')}"


every = pytest.mark.parametrize("classifier", QUICK, ids=name_of)
# those whose members are energy models, trained in epochs
in_epochs = pytest.mark.parametrize("classifier", QUICK[1:], ids=name_of)


# Its raw inputs of up to 40 saturate any model that does not scale them;
# `test_class_weight.py` runs it with scaled ones.
NEEDS_SCALING = {"check_class_weight_classifiers": "inputs are not scaled"}


@pytest.fixture(autouse=True)
def small_forests(monkeypatch):
    monkeypatch.setattr("crbm.estimators.auto.trees.N_TREES", 20)


def expected_failures(estimator):
    """AutoClassifier scales its inputs."""
    return {} if isinstance(estimator, crbm.AutoClassifier) else NEEDS_SCALING


@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=expected_failures)
def test_scikit_learns_common_checks(estimator, check):
    weighted = "sample_weight_equivalence" in check.func.__name__
    if weighted and isinstance(estimator, crbm.AutoClassifier):
        pytest.xfail("trees grow on bootstrap samples, as in scikit-learn's forests")
    check(estimator)


@every
def test_defaults_pass_through_clone_and_pickle(classifier):
    fitted = clone(classifier).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert clone(fitted).get_params() == classifier.get_params()


@every
def test_the_same_seed_gives_the_same_answers(classifier):
    one, other = clone(classifier).fit(X, Y), clone(classifier).fit(X, Y)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))
    changed = clone(classifier).set_params(random_state=1).fit(X, Y)
    assert not np.array_equal(one.predict_proba(X), changed.predict_proba(X))


@every
def test_probabilities_are_one_column_per_label(classifier):
    p = clone(classifier).fit(X, Y).predict_proba(X)
    assert p.shape == Y.shape
    assert ((p >= 0) & (p <= 1)).all()


@every
def test_frames_keep_their_label_names(classifier):
    names = ["sea", "sky", "sand", "sun"]
    plain = clone(classifier).fit(X, Y).predict(X)
    for frame in (pd.DataFrame, pl.DataFrame):
        inputs = (
            frame(X, [f"f{i}" for i in range(12)])
            if frame is pl.DataFrame
            else (pd.DataFrame(X, columns=[f"f{i}" for i in range(12)]))
        )
        labels = (
            pl.DataFrame(Y, names)
            if frame is pl.DataFrame
            else pd.DataFrame(Y, columns=names)
        )
        fitted = clone(classifier).fit(inputs, labels)
        assert fitted.label_names_ == names
        assert list(fitted.get_feature_names_out()) == names
        assert np.array_equal(fitted.predict(inputs), plain)


@every
def test_marginals_come_as_a_named_frame(classifier):
    names = ["sea", "sky", "sand", "sun"]
    labels = pd.DataFrame(Y, columns=names)
    for kind, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        fitted = clone(classifier).set_output(transform=kind).fit(X, labels)
        marginals = fitted.transform(X)
        assert isinstance(marginals, frame)
        assert list(marginals.columns) == names
        assert np.array_equal(marginals.to_numpy(), fitted.predict_proba(X))


@every
def test_sparse_matrices_are_taken_as_dense_ones(classifier):
    if not isinstance(classifier, crbm.AutoClassifier):
        # sparse inputs are not centred
        classifier = clone(classifier).set_params(preprocessing="none")
    plain = clone(classifier).fit(X, Y)
    given = clone(classifier).fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    found = given.predict_proba(sparse.csr_array(X))
    np.testing.assert_allclose(found, plain.predict_proba(X), rtol=1e-4, atol=1e-6)


@in_epochs
def test_it_works_within_pipelines_and_searches(classifier):
    pipeline = make_pipeline(StandardScaler(), clone(classifier))
    assert cross_val_predict(pipeline, X, Y, cv=2).shape == Y.shape
    grid = {"learning_rate": [0.01, 0.1]}
    search = GridSearchCV(clone(classifier), grid, cv=2).fit(X, Y)
    assert search.best_params_["learning_rate"] in (0.01, 0.1)


@in_epochs
def test_warm_start_goes_on_from_where_it_was(classifier):
    warm = clone(classifier).set_params(warm_start=True).fit(X, Y)
    before = warm.models_[0].state_dict()["bias_v"].clone()
    after = warm.fit(X, Y).models_[0].state_dict()["bias_v"]
    assert not np.array_equal(before, after)
    cold = clone(classifier).fit(X, Y).fit(X, Y)
    assert np.array_equal(before, cold.models_[0].state_dict()["bias_v"])


@in_epochs
def test_partial_fit_learns_from_parts(classifier):
    piecewise = clone(classifier)
    for _ in range(3):
        piecewise.partial_fit(X[:40], Y[:40]).partial_fit(X[40:], Y[40:])
    p = piecewise.predict_proba(X)
    assert p.shape == Y.shape
    assert np.isfinite(p).all()
    if hasattr(piecewise, "sets_"):  # label sets of both halves are candidates
        assert piecewise.sets_.recall(X, Y) == 1.0


def test_partial_fit_takes_a_column_of_named_classes():
    y = np.where(Y[:, 0] == 1, "yes", "no")
    one_class = y == "yes"
    classifier = crbm.LogisticClassifier(random_state=0)
    classifier.partial_fit(X[one_class], y[one_class], classes=["no", "yes"])
    classifier.partial_fit(X, y)
    assert set(classifier.predict(X)) <= {"no", "yes"}
    with pytest.raises(ValueError, match="'maybe', not among the classes"):
        classifier.partial_fit(X[:2], np.array(["maybe", "no"]))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (Y * 2, r"Labels must be binary; column \d of `Y` holds \{0, 2\}"),
        (np.array([["a", "b"]] * 80), "Labels must be numbers 0 and 1"),
        (Y[:, :, None], "column or a matrix"),
        (Y[:60], "`X` has 80, `Y` has 60"),
        (np.arange(80) % 3, "Only binary classification is supported"),
    ],
)
def test_wrong_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        crbm.CRFClassifier().fit(X, labels)


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        (crbm.CRBMClassifier(objective="magic"), "`objective` must be one of 'auto'"),
        (crbm.CRBMClassifier(inference="magic"), "`inference` must be one of"),
        (crbm.HashCRBMClassifier(prediction="mean"), "`prediction` must be one of"),
        (crbm.HashCRBMClassifier(n_estimators=0), "`n_estimators` must be at least 1"),
        (crbm.LogisticClassifier(thresholds="f7"), "`thresholds` must be one of"),
        (crbm.LogisticClassifier(stop_by="f7"), "`stop_by` must be one of 'error'"),
        (crbm.LogisticClassifier(patience=0), "`patience` must be at least 1; got 0"),
        (crbm.CRBMClassifier(hidden_bias=np.nan), "`hidden_bias` must be finite; got"),
        (crbm.CRBMClassifier(init_scale=-1.0), "`init_scale` must not be negative"),
        (
            crbm.CRBMClassifier(inference_params={"foo": 1}),
            "`inference_params` has no `foo` here; use `n_steps`",
        ),
        (
            crbm.CRBMClassifier(objective="exact", objective_params={"n_steps": 1}),
            "`objective_params` has no `n_steps` here; use `marginals`",
        ),
        (
            crbm.LogisticClassifier(early_stopping=True, validation_fraction=0.999),
            "holds out 80 of 80",
        ),
        (crbm.LogisticClassifier(input_dropout=1.0), r"`input_dropout` must lie in"),
        (
            crbm.LogisticClassifier(validation_fraction=0.0),
            "`validation_fraction` must lie between 0 and 1",
        ),
        (
            crbm.LogisticClassifier(preprocessing="kernel", kernel_gamma=0.0),
            "`kernel_gamma` must be a positive number; got 0.0",
        ),
        (
            crbm.LogisticClassifier(preprocessing="kernel", kernel_features=0),
            "`kernel_features` must be at least 1; got 0",
        ),
        (
            crbm.LogisticClassifier(early_stopping=True, validation_fraction=0.001),
            "holds out 0 of 80",
        ),
    ],
)
def test_wrong_parameters_are_refused_when_fitting(classifier, message):
    with pytest.raises(ValueError, match=message):
        classifier.fit(X, Y)


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        (crbm.CRBMClassifier(hidden_bias="low"), "`hidden_bias` must be a number; got"),
        (
            crbm.LogisticClassifier(learning_rate=None),
            "`learning_rate` must be a number",
        ),
        (crbm.LogisticClassifier(l2="x"), "`l2` must be a number; got str 'x'"),
        (crbm.LogisticClassifier(patience="x"), "`patience` must be a whole number"),
        (
            crbm.LogisticClassifier(input_dropout="x"),
            "`input_dropout` must be a number",
        ),
        (
            crbm.LogisticClassifier(validation_fraction="x"),
            "`validation_fraction` must be a number",
        ),
        (crbm.LogisticClassifier(optimizer=3), "a class of torch.optim"),
        (crbm.CRBMClassifier(inference_params=[1]), "must be a dictionary"),
    ],
)
def test_parameters_of_other_kinds_are_refused_when_fitting(classifier, message):
    with pytest.raises(TypeError, match=message):
        classifier.fit(X, Y)


@pytest.mark.parametrize(
    ("validation", "error", "message"),
    [
        ((X[:5], Y[:4]), ValueError, "`X` has 5, `y` has 4"),
        ((X[:5], Y[:1]), ValueError, "`X` has 5, `y` has 1"),
        (0.1, TypeError, r"must be a pair \(X, y\).*got float"),
    ],
)
def test_wrong_held_out_cases_are_refused(validation, error, message):
    with pytest.raises(error, match=message):
        crbm.LogisticClassifier().fit(X, Y, validation=validation)
