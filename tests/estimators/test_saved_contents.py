"""Contents of files of regressors and pixel classifiers that do not fit together."""

import numpy as np
import pytest
import torch

import crbm
from crbm import persistence
from crbm.estimators import base_trees

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.sign(X[:, :2]) + 0.1 * RNG.normal(size=(40, 2))  # trees learn it best
IMAGE = RNG.random((8, 8))


@pytest.fixture(scope="module")
def regressor_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("regressor") / "m.safetensors"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(base_trees, "N_TREES", 3)
        fitted = crbm.CRBMRegressor(n_hidden=2, n_epochs=1, random_state=0).fit(X, Y)
    assert "base.trees.0.0.values" in fitted_tensors(fitted, path)
    return path


@pytest.fixture(scope="module")
def pixel_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("pixels") / "m.safetensors"
    classifier = crbm.PixelClassifier(
        channels=(2, 4), n_hidden=2, n_epochs=1, augment=False, random_state=0
    )
    fitted_tensors(classifier.fit([IMAGE], [(IMAGE > 0.5).astype(int)]), path)
    return path


def fitted_tensors(fitted, path):
    fitted.save(path)
    return persistence.read(path)[0]


def refused(source, folder, change):
    """The error for a file whose contents were changed and have a valid digest."""
    tensors, described = persistence.read(source)
    change(tensors, described)
    path = folder / "changed.safetensors"
    persistence.write(path, tensors, described)
    with pytest.raises(ValueError, match="does not hold a whole classifier") as raised:
        crbm.load(path)
    assert str(raised.value).isprintable()


def put(name, value):
    return lambda tensors, described: described["fitted"].update({name: value})


def fill(name, value):
    return lambda tensors, described: tensors[name].fill_(value)


def resize(name, *shape):
    return lambda tensors, described: tensors.update(
        {name: torch.ones(*shape, dtype=torch.float64)}
    )


WRONG_REGRESSORS = {
    "endless targets": put("n_targets_", 10**9),
    "no targets": put("n_targets_", 0),
    "a size that is true": put("n_targets_", True),
    "one target of two": put("single_target_", True),
    "names of others": put("target_names_", ["a"]),
    "a record of text": put("history_", ["x"]),
    "NaN inputs": fill("input_center_", torch.nan),
    "a scale of 0": fill("scale_", 0.0),
    "an input scale of NaN": fill("input_scale_", torch.nan),
    "a scale for each of 3": resize("scale_", 3),
    "centres of others": resize("center_", 1),
    "a base of others": resize("base.coef", 2, 99),
    "no intercept": resize("base.intercept", 1),
    "weights in a table": resize("base.weights", 2, 2),
    "weights of missing trees": resize("base.weights", 9),
    "noise of no covariance": fill("model.log_scale", -1e9),
    "noise without bounds": fill("model.log_scale", 1e9),
    "half precision": lambda t, d: t.update(
        {"model.bias_v": t["model.bias_v"].float()}
    ),
    "too many hidden units": lambda t, d: d["parameters"].update(n_hidden=15),
    "a base that is a list": lambda t, d: d["parameters"].update(base=["ridge"]),
    "trees of another target": lambda t, d: t.update(
        {"base.trees.0.2.values": t["base.trees.0.0.values"].clone()}
    ),
}


@pytest.mark.parametrize("name", WRONG_REGRESSORS)
def test_wrong_contents_of_a_regressor_are_refused(name, regressor_file, tmp_path):
    refused(regressor_file, tmp_path, WRONG_REGRESSORS[name])


WRONG_PIXELS = {
    "endless labels": put("n_labels_", 10**12),
    "one label": put("n_labels_", 1),
    "a mean of NaN": put("scaling_", [[float("nan")], [1.0]]),
    "an infinite deviation": put("scaling_", [[0.0], [float("inf")]]),
    "a deviation of 0": put("scaling_", [[0.0], [0.0]]),
    "more channels": put("n_channels_", 3),
    "endless channels": lambda t, d: d["parameters"].update(channels=[10**9, 4]),
    "NaN weights": fill("network.out.bias", torch.nan),
    "half precision": lambda t, d: t.update(
        {name: tensor.half() for name, tensor in t.items()}
    ),
    "a bias of whole numbers": lambda t, d: t.update(
        {"network.out.bias": t["network.out.bias"].to(torch.int8)}
    ),
    "statistics of others": lambda t, d: t.update(
        {name: x.double() for name, x in t.items() if "running_var" in name}
    ),
}


@pytest.mark.parametrize("name", WRONG_PIXELS)
def test_wrong_contents_of_a_pixel_classifier_are_refused(name, pixel_file, tmp_path):
    refused(pixel_file, tmp_path, WRONG_PIXELS[name])


@pytest.mark.parametrize(
    "kind",
    [crbm.HashCRBMClassifier, crbm.PixelClassifier],
    ids=lambda kind: kind.__name__,
)
def test_models_of_files_take_no_memory_before_their_tensors(
    kind, pixel_file, tmp_path, monkeypatch
):
    """Sizes that a file claims are compared with its tensors on the meta device."""
    file, make, devices = pixel_file, kind._new_model, set()
    if kind is crbm.HashCRBMClassifier:
        file = tmp_path / "m.safetensors"
        kind(n_epochs=1, n_hidden=2, random_state=0).fit(X, Y > 0).save(file)

    def new_model(*args):
        model = make(*args)
        devices.update(p.device.type for p in model.parameters())
        return model

    monkeypatch.setattr(kind, "_new_model", new_model)
    crbm.load(file)
    assert devices == {"meta"}
