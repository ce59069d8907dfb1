"""Preprocessing inside a classifier, and batches changed while it learns."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import crbm
from crbm import persistence
from crbm.preprocessing import KINDS, pipeline
from planted import copied_patterns

DATA = copied_patterns(80)
X = (DATA.u.numpy() + 1) * np.array([1, 10, 100, 1000], dtype=np.float32)
Y = DATA.v.numpy()
QUICK = {"n_epochs": 2, "learning_rate": 2**-6, "random_state": 0}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_pipeline_before_the_classifier(kind):
    inside = crbm.HashCRBMClassifier(**QUICK, preprocessing=kind).fit(X, Y)
    scaled = pipeline(kind).fit_transform(X).astype(np.float32)
    outside = crbm.HashCRBMClassifier(**QUICK, preprocessing="none").fit(scaled, Y)
    assert np.array_equal(inside.predict_proba(X), outside.predict_proba(scaled))
    assert inside.n_features_in_ == 4


@pytest.mark.parametrize("kind", KINDS)
def test_files_carry_it(kind, tmp_path):
    fitted = crbm.LogisticClassifier(**QUICK, preprocessing=kind, kernel_gamma=2.0)
    fitted.fit(X, Y)
    fitted.trained_on_ = {"name": "patterns"}
    fitted.save(tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.trained_on_ == {"name": "patterns"}


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop("preprocessing.0.mean_"),
        lambda tensors: tensors.pop("preprocessing.sparse"),
        lambda tensors: tensors.update({"preprocessing.0.scale_": torch.ones(7)}),
    ],
)
def test_damaged_files_are_refused(change, tmp_path):
    path = tmp_path / "m.safetensors"
    crbm.LogisticClassifier(**QUICK, preprocessing="standardise").fit(X, Y).save(path)
    tensors, described = persistence.read(path)
    change(tensors)
    persistence.write(path, tensors, described)
    with pytest.raises(ValueError, match="does not hold a whole classifier"):
        crbm.load(path)


@pytest.mark.parametrize("gamma", [-1.0, 0, float("inf"), "wide", None, [1], True])
def test_a_file_claims_no_kernel_that_there_is_not(gamma, tmp_path):
    path = tmp_path / "m.safetensors"
    fitted = crbm.LogisticClassifier(**QUICK, preprocessing="kernel", kernel_gamma=2.0)
    fitted.fit(X, Y).save(path)
    tensors, described = persistence.read(path)
    described["parameters"]["kernel_gamma"] = gamma
    persistence.write(path, tensors, described)
    with pytest.raises(ValueError, match="`kernel_gamma` must be a positive number"):
        crbm.load(path)


@pytest.mark.parametrize("asked", [1, 7, 10**6])
def test_kernel_features_are_as_many_as_asked_for_or_as_there_are_rows(asked, tmp_path):
    path = tmp_path / "m.safetensors"
    fitted = crbm.LogisticClassifier(
        **QUICK, preprocessing="kernel", kernel_features=asked
    )
    fitted.fit(X, Y).save(path)
    assert fitted.models_[0].n_inputs == min(asked, len(X))
    assert crbm.load(path).kernel_features == asked
    assert np.array_equal(crbm.load(path).predict_proba(X), fitted.predict_proba(X))


def test_sparse_inputs_are_scaled_without_centring():
    fitted = crbm.LogisticClassifier(**QUICK, preprocessing="standardise")
    fitted.fit(csr_array(X), Y)
    found = fitted.predict_proba(csr_array(X))
    # scikit-learn divides dense single-precision inputs and multiplies sparse ones
    np.testing.assert_allclose(found, fitted.predict_proba(X), rtol=1e-5)


def test_a_warm_start_keeps_what_was_learned_about_the_inputs():
    fitted = crbm.LogisticClassifier(
        **QUICK, preprocessing="standardise", warm_start=True
    )
    before = fitted.fit(X, Y).preprocessor_
    assert fitted.fit(X[:40], Y[:40]).preprocessor_ is before


def test_batches_can_be_changed_while_learning():
    def blind(batch, generator):
        return batch._replace(u=torch.zeros_like(batch.u))

    seeing = crbm.LogisticClassifier(**QUICK).fit(X, Y)
    blinded = crbm.LogisticClassifier(**QUICK).fit(X, Y, augment=blind)
    started = crbm.LogisticClassifier(**QUICK | {"n_epochs": 0}).fit(X, Y)
    weight = [m.models_[0].weight_uv for m in (seeing, blinded, started)]
    assert torch.equal(weight[1], weight[2])
    assert not torch.equal(weight[0], weight[2])
