"""ONNX models give the probabilities of the estimators they were made from."""

from functools import partial

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import crbm
from crbm.estimators.auto.catalogue import MEMBERS
from crbm.export import candidates, energies, to_onnx
from crbm.hashing.codes import pack
from crbm.inference import mean_field
from crbm.preprocessing import KINDS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
SCORES = X @ RNG.normal(size=(4, 3)) + RNG.normal(size=(80, 3))
Y = (SCORES > 0.3).astype(int)
NEW = 2 * RNG.normal(size=(60, 4))
ONE_COLUMN = np.array(["a", "b", "c"])[SCORES.argmax(1)]
COLUMNS = np.column_stack([ONE_COLUMN, np.array(["no", "yes"])[Y[:, 0]]])
# What was promised. In double precision both are much nearer, except where an RBF
# kernel amplifies the rounding of squared distances.
PROMISED = 1e-5


def runtime(path):
    """A function from inputs to the output of an ONNX model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    return lambda x: session.run(None, {"X": x})[0]


def assert_same(estimator, folder, X, atol=PROMISED):
    """The ONNX model of a fitted estimator gives what the estimator gives."""
    exported = to_onnx(estimator, folder / "model.onnx")
    found = runtime(folder / "model.onnx")(np.asarray(X, dtype=exported.dtype))
    if exported.output == "targets":
        expected = estimator.predict(X)
    else:
        expected = estimator._all_marginals(X, None)
    assert found.shape == (len(X), len(exported.output_names))
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def crbm_classifier(**options):
    small = {"n_hidden": 3, "init_scale": 1.0, "n_epochs": 3, "random_state": 0}
    return crbm.CRBMClassifier(**(small | options))


@pytest.mark.parametrize("kind", KINDS)
def test_every_preprocessing(kind, tmp_path):
    classifier = crbm_classifier(preprocessing=kind, kernel_gamma=2.0).fit(X, Y)
    assert_same(classifier, tmp_path, NEW)


def test_ranks_among_equal_quantiles(tmp_path):
    """Values at, between and beyond quantiles, most of which are equal."""
    coarse = np.round(X)
    classifier = crbm_classifier(preprocessing="rank").fit(coarse, Y)
    assert_same(classifier, tmp_path, np.round(2 * NEW) / 2, atol=1e-10)


@pytest.mark.parametrize(
    "inference",
    ["mean_field", "search", "loopy_bp", "exact", partial(mean_field.run, n_steps=3)],
    ids=["mean_field", "search", "loopy_bp", "exact", "partial"],
)
def test_every_inference(inference, tmp_path):
    classifier = crbm_classifier(inference=inference, preprocessing="none").fit(X, Y)
    assert_same(classifier, tmp_path, NEW, atol=1e-10)


def test_exact_marginals_over_the_outputs(tmp_path):
    classifier = crbm_classifier(inference="exact", n_hidden=8, preprocessing="none")
    assert_same(classifier.fit(X, Y), tmp_path, NEW, atol=1e-10)


@pytest.mark.parametrize("radius", [None, 0, 1])
@pytest.mark.parametrize("base_measure", ["counts", "uniform"])
def test_candidates(radius, base_measure, tmp_path):
    classifier = crbm.HashCRBMClassifier(
        n_bits=4,
        radius=radius,
        base_measure=base_measure,
        n_estimators=2,
        n_epochs=3,
        preprocessing="standardise",
        random_state=0,
    )
    assert_same(classifier.fit(X, Y), tmp_path, NEW, atol=1e-10)


def test_the_nearest_codes_where_none_is_within_the_radius(tmp_path):
    """Most codes were not seen in training, so that their neighbours are taken."""
    classifier = crbm.HashCRBMClassifier(
        n_bits=12, radius=0, n_epochs=1, preprocessing="none", random_state=0
    ).fit(X, Y)
    known = classifier.sets_.index_.whole().codes
    assert not np.isin(pack(classifier.sets_.hash_.encode(NEW)), known).all()
    assert len(np.unique(classifier.sets_.sizes(NEW))) > 1
    assert_same(classifier, tmp_path, NEW, atol=1e-10)


@pytest.mark.parametrize("kind", [crbm.LogisticClassifier, crbm.CRFClassifier])
def test_other_classifiers(kind, tmp_path):
    classifier = kind(n_epochs=3, preprocessing="none", random_state=0).fit(X, Y)
    assert_same(classifier, tmp_path, NEW, atol=1e-10)


@pytest.mark.parametrize("y", [ONE_COLUMN, COLUMNS], ids=["one", "several"])
@pytest.mark.parametrize("inference", ["exact", "mean_field"])
def test_columns_of_classes(y, inference, tmp_path):
    classifier = crbm_classifier(inference=inference, preprocessing="none").fit(X, y)
    assert_same(classifier, tmp_path, NEW, atol=1e-10)


def test_single_precision(tmp_path):
    classifier = crbm.CRBMClassifier(n_epochs=3, random_state=0)
    classifier.fit(X.astype(np.float32), Y)
    assert to_onnx(classifier, tmp_path / "m.onnx").dtype == "float32"
    assert_same(classifier, tmp_path, NEW.astype(np.float32))


def test_missing_values(tmp_path):
    gone, gone_too = X.copy(), NEW.copy()
    gone[::7, 1], gone_too[::5, 1:3] = np.nan, np.nan
    assert_same(crbm_classifier(preprocessing="none").fit(gone, Y), tmp_path, gone_too)


@pytest.mark.parametrize("name", MEMBERS)
def test_every_member_of_an_auto_classifier(name, tmp_path):
    members = ["forest", name] if "stack" in name else [name]
    auto = crbm.AutoClassifier(members=members, time_limit=1, random_state=0)
    assert_same(auto.fit(X, Y), tmp_path, NEW)


def test_a_pool_of_members_with_class_weights(tmp_path):
    members = ["forest", "ridge, kernel", "boosting"]
    auto = crbm.AutoClassifier(members=members, time_limit=1, random_state=0)
    assert_same(auto.fit(X, Y), tmp_path, NEW)
    auto.set_params(class_weight=[2.0, 1.0, 0.5]).fit(X, Y)
    assert_same(auto, tmp_path, NEW)


@pytest.mark.parametrize("base", ["auto", "ridge"])
def test_a_regressor(base, tmp_path):
    regressor = crbm.CRBMRegressor(
        base=base, n_hidden=2, n_epochs=2, validation_fraction=0, random_state=0
    )
    assert_same(regressor.fit(X, SCORES), tmp_path, NEW)


def test_tables_are_encoded_before(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(plan=ONE_COLUMN)
    classifier = crbm_classifier().fit(frame, Y)
    exported = to_onnx(classifier, tmp_path / "m.onnx")
    assert exported.encoded
    assert {"a", "plan=a", "plan=c"} < set(exported.input_names)
    encoded = classifier.encoder_.transform(frame)
    found = runtime(tmp_path / "m.onnx")(np.asarray(encoded, dtype=exported.dtype))
    np.testing.assert_allclose(found, classifier.predict_proba(frame), atol=PROMISED)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (crbm.PixelClassifier(), "`PixelClassifier` has no ONNX form; these have one"),
        (crbm.CRBMClassifier(), "not fitted"),
    ],
)
def test_other_estimators_are_refused(estimator, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        to_onnx(estimator, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def test_an_inference_of_your_own_is_refused(tmp_path):
    classifier = crbm_classifier().fit(X, Y)
    classifier.inference = lambda energy: mean_field.run(energy)
    with pytest.raises(ValueError, match="has no ONNX form"):
        to_onnx(classifier, tmp_path / "m.onnx")


def test_too_many_states_and_sets_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(energies, "MOST_STATES", 4)
    with pytest.raises(ValueError, match=r"over 2\^3 states here"):
        to_onnx(crbm_classifier(inference="exact").fit(X, Y), tmp_path / "m.onnx")
    monkeypatch.setattr(candidates, "MOST_SETS", 4)
    classifier = crbm.HashCRBMClassifier(n_epochs=1, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="at most 4; this model has 8"):
        to_onnx(classifier, tmp_path / "m.onnx")


def test_a_base_of_another_library_is_refused(tmp_path):
    classifier = crbm.HashCRBMClassifier(base=LogisticRegression(), n_epochs=1)
    regressor = crbm.CRBMRegressor(base=LinearRegression(), n_epochs=1)
    for estimator, y in ((classifier, Y), (regressor, SCORES)):
        with pytest.raises(ValueError, match="a model of another library"):
            to_onnx(estimator.fit(X, y), tmp_path / "m.onnx")
