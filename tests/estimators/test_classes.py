"""Columns of classes: one or several, with names, known and missing values."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import crbm
from crbm.estimators.hashed_cases import agreeing_candidates, with_first_set

X, SPECIES = load_iris(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
SIZE = np.where(X[:, 0] > 0, "large", "small")
BOTH = np.stack([NAMES, SIZE], 1)
COMBINATIONS = np.array(list(itertools.product(sorted(set(NAMES)), sorted(set(SIZE)))))

PLAIN = {"preprocessing": "none", "learning_rate": 2**-4}
PLAIN |= {"n_epochs": 20, "random_state": 0}
KINDS = [
    crbm.LogisticClassifier(**PLAIN),
    crbm.CRBMClassifier(**PLAIN, n_hidden=6, init_scale=0.5),
    crbm.HashCRBMClassifier(
        **PLAIN | {"learning_rate": 0.1},
        radius=None,
        n_hidden=6,
        init_scale=0.01,
        base_measure="uniform",
    ),
]
every = pytest.mark.parametrize("classifier", KINDS, ids=lambda c: type(c).__name__)


def joint_by_hand(model, u, combinations):
    """p(v | u) of all combinations, from the weights alone."""
    weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
    scores = []
    for v in combinations:
        hidden = weights["bias_h"] + u @ weights["weight_uh"] + v @ weights["weight_vh"]
        field = (weights["bias_v"] + u @ weights["weight_uv"]) @ v
        scores.append(field + np.log1p(np.exp(hidden)).sum(-1))
    p = np.exp(np.array(scores).T)
    return p / p.sum(1, keepdims=True)


@every
def test_probabilities_of_one_column_are_sums_over_its_classes(classifier):
    fitted = clone(classifier).fit(X, NAMES)
    expected = joint_by_hand(fitted.models_[0], X, np.eye(3))
    np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=1e-9)
    assert fitted.classes_.tolist() == fitted.label_names_ == sorted(set(NAMES))
    assert (fitted.predict(X) == fitted.classes_[expected.argmax(1)]).all()
    assert fitted.score(X, NAMES) > 0.8
    top = fitted.predict_top_k(X, 2)
    assert (top.labels[:, 0] == fitted.predict(X)).all()
    np.testing.assert_allclose(top.probability[:, 0], expected.max(1))


@every
def test_several_columns_have_a_joint_distribution(classifier):
    fitted = clone(classifier).fit(X, BOTH)
    hot = fitted.columns_.encode(COMBINATIONS).numpy().astype(float)
    expected = joint_by_hand(fitted.models_[0], X, hot)
    seen = {tuple(row) for row in BOTH}
    if isinstance(classifier, crbm.HashCRBMClassifier):
        allowed = [tuple(row) in seen for row in COMBINATIONS]
        expected = expected * allowed / expected[:, allowed].sum(1, keepdims=True)
    with np.errstate(divide="ignore"):
        scores = [
            fitted.score_samples(X, np.tile(row, (len(X), 1))) for row in COMBINATIONS
        ]
    np.testing.assert_allclose(np.exp(scores).T, expected, atol=1e-6)
    species, size = fitted.predict_proba(X)
    if not isinstance(classifier, crbm.CRBMClassifier):
        np.testing.assert_allclose(species, expected @ hot[:, :3], atol=1e-6)
    np.testing.assert_allclose(size.sum(1), 1)
    best = COMBINATIONS[expected.argmax(1)]
    assert (fitted.predict_top_k(X, 1).labels[:, 0] == best).all()


@every
def test_known_classes_condition_the_others(classifier):
    fitted = clone(classifier).fit(X, BOTH)
    known = np.full(BOTH.shape, None, dtype=object)
    known[:, 1] = SIZE
    given = fitted.predict_proba(X, known=known)
    assert (given[1] == (SIZE[:, None] == fitted.classes_[1])).all()
    joint = np.stack(
        [
            fitted.score_samples(X, np.stack([np.full(150, name), SIZE], 1))
            for name in fitted.classes_[0]
        ],
        1,
    )
    expected = np.exp(joint - np.logaddexp.reduce(joint, 1, keepdims=True))
    np.testing.assert_allclose(given[0], expected, atol=1e-6)
    answer = fitted.predict(X, known=known)
    assert (answer[:, 1] == SIZE).all()
    unknown = np.column_stack([NAMES, [None] * 150]).astype(object)
    both = np.logaddexp(
        *(fitted.score_samples(X, np.stack([NAMES, [s] * 150], 1)) for s in set(SIZE))
    )
    found = fitted.score_samples(X, unknown)
    np.testing.assert_allclose(found, both, atol=1e-6)


@every
@pytest.mark.parametrize("y", [NAMES, BOTH], ids=["one", "several"])
def test_saved_models_keep_the_names(classifier, y, tmp_path):
    fitted = clone(classifier).fit(X, y)
    fitted.save(tmp_path / "m.safetensors")
    again = crbm.load(tmp_path / "m.safetensors")
    assert (again.predict(X) == fitted.predict(X)).all()
    assert np.array_equal(again.transform(X), fitted.transform(X))
    assert again.label_names_ == fitted.label_names_
    assert np.array_equal(np.hstack(again.classes_), np.hstack(fitted.classes_))


@every
def test_frames_name_their_columns(classifier):
    frame = pd.DataFrame(BOTH, columns=["species", "size"])
    frame.loc[::7, "size"] = None
    fitted = clone(classifier).fit(X, frame)
    assert fitted.columns_.names == ["species", "size"]
    assert fitted.label_names_[2:4] == ["species=virginica", "size=large"]
    whole = pd.DataFrame(BOTH, columns=["species", "size"])
    right = (fitted.predict(X) == BOTH).all(1).mean()
    assert fitted.score(X, whole) == pytest.approx(right)


def test_training_is_exact_for_columns_of_classes():
    classifier = crbm.CRBMClassifier().fit(X[:, :2], BOTH)
    assert isinstance(classifier._objective(), crbm.objectives.ExactLikelihood)
    labels = crbm.CRBMClassifier().fit(X[:, :2], np.eye(3)[SPECIES])
    assert isinstance(labels._objective(), crbm.objectives.MeanFieldLikelihood)
    labels.set_params(learning_rate=0.1)
    assert isinstance(labels._objective(), crbm.objectives.Perceptron)
    assert labels.columns_ is None


def test_integers_come_back_as_integers():
    Y = np.stack([SPECIES, SPECIES + 5.0], 1)
    Y[::9, 1] = np.nan
    fitted = crbm.CRBMClassifier(n_hidden=4, n_epochs=3, random_state=0).fit(X, Y)
    assert fitted.predict(X).dtype == np.int64
    assert set(fitted.predict(X)[:, 1]) <= {5, 6, 7}


def test_class_weights_multiply_the_odds():
    plain = crbm.CRBMClassifier(n_epochs=3, random_state=0).fit(X, NAMES)
    heavy = clone(plain).set_params(class_weight={"setosa": 3}).fit(X, NAMES)
    p, q = plain.predict_proba(X), heavy.predict_proba(X)
    np.testing.assert_allclose(q[:, 0] / q[:, 1], 3 * p[:, 0] / p[:, 1], rtol=1e-9)
    np.testing.assert_allclose(q[:, 2] / q[:, 1], p[:, 2] / p[:, 1], rtol=1e-9)
    balanced = clone(plain).set_params(class_weight="balanced", early_stopping=False)
    assert balanced.fit(X[:110], NAMES[:110]).class_weight_.tolist() == [2.2, 2.2, 11]


def test_partial_fit_learns_the_classes_first():
    classifier = crbm.CRBMClassifier(n_hidden=4, random_state=0)
    classifier.partial_fit(X[:60], NAMES[:60], classes=sorted(set(NAMES)))
    for _ in range(20):
        classifier.partial_fit(X, NAMES)
    assert classifier.score(X, NAMES) > 0.8


def test_candidates_that_agree_are_whole_combinations():
    classifier = KINDS[2]
    fitted = clone(classifier).fit(X, BOTH)
    table = fitted._table(fitted.label_sets_)
    v = fitted.columns_.encode(np.array([["setosa", None]], dtype=object))
    v[0, :3] = v.new_tensor([0.0, 1.0, 0.0])
    groups = fitted.sets_.groups(v.new_zeros(1, 4).double())
    sparse_table = table._replace(sets=table.sets[:1])
    groups = groups._replace(
        sets=groups.sets._replace(indptr=np.array([0, 1]), ids=np.array([0]))
    )
    found, _ = agreeing_candidates(sparse_table, groups, v.double(), with_first_set)
    fitted._visible.check("sets", found.sets)


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"thresholds": "hamming"}, NAMES, "Set `thresholds` to None"),
        ({"prediction": "jaccard"}, NAMES, 'use "marginals" or "mode"'),
        ({}, np.column_stack([NAMES, ["x"] * 150]), "has only one class: 'x'"),
        ({}, np.array([["a", 1]] * 75 + [[2, 3]] * 75, object), "values of one type"),
        ({}, X[:, :2], "Labels must be binary"),
    ],
)
def test_wrong_outputs_are_refused(options, y, message):
    with pytest.raises(ValueError, match=message):
        crbm.HashCRBMClassifier(n_epochs=1, **options).fit(X, y)


def test_strange_classes_are_refused():
    fitted = crbm.CRBMClassifier(n_epochs=1).fit(X, BOTH)
    with pytest.raises(ValueError, match="holds 'dog' in column 0"):
        fitted.score_samples(X[:1], [["dog", "small"]])
    with pytest.raises(ValueError, match="2 columns of classes, or 5 of 0 and 1"):
        fitted.predict(X[:1], known=[["setosa", None, None]])
    with pytest.raises(ValueError, match="Only binary classification"):
        crbm.CRFClassifier().fit(X, NAMES)
