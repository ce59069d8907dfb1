"""Fitted pixel classifiers as files."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
import torch
from torch import Tensor, nn

from crbm import checks, persistence
from crbm.estimators import file_checks
from crbm.estimators.files import plain_value, restored_parameters
from crbm.estimators.pixels.batches import Scaling
from crbm.models.unet_versions import NEWEST, VERSIONS
from crbm.preprocessing.packing import below
from crbm.training import History, distributed

if TYPE_CHECKING:
    from crbm.estimators.pixels.classifier import PixelClassifier

OF_THE_RUN = ("n_threads", "progress", "network", "augment", "precision")
OWN_NETWORK = "own"
UNSTORED_VERSION = 2  # of the network in files that name none
EXAMPLES = "examples."  # the names of the tensors of example images start with this


def save(classifier: PixelClassifier, path: str | Path) -> None:
    """Write a fitted classifier to one file."""
    tensors = dict(classifier.model_.state_dict())
    file_checks.check_tensors(tensors)
    for place, image in enumerate(getattr(classifier, "examples_", ())):
        tensors[f"{EXAMPLES}{place}"] = torch.from_numpy(np.ascontiguousarray(image))
    if distributed.writes_files():
        persistence.write(path, tensors, description(classifier))


def description(classifier: PixelClassifier) -> dict[str, Any]:
    """What a classifier is and how it was trained, as plain data."""
    parameters = {
        name: plain_value(name, list(value) if isinstance(value, tuple) else value)
        for name, value in classifier.get_params(deep=False).items()
        if name not in OF_THE_RUN
    }
    network = classifier.network
    parameters["network"] = network if network in ("unet", None) else OWN_NETWORK
    return {
        "class": type(classifier).__name__,
        "parameters": parameters,
        "fitted": {
            "n_channels_": classifier.n_channels_,
            "n_labels_": classifier.n_labels_,
            "network_version_": NEWEST,
            "scaling_": list(classifier.scaling_),
            "mirrors_": classifier.mirrors_,
            "history_": classifier.history_.as_dict(),
            "trained_on_": getattr(classifier, "trained_on_", {}),
        },
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }


def restore(
    kind: type[PixelClassifier],
    tensors: dict[str, Tensor],
    described: dict[str, Any],
    network: nn.Module | None,
) -> PixelClassifier:
    """The classifier that `save` wrote; `network` is the user's own, if it had one."""
    parameters = restored_parameters(described["parameters"])
    is_own = parameters["network"] == OWN_NETWORK
    if is_own != (network is not None):
        raise ValueError(
            "its network is a module of your own: pass one of the same kind, as in "
            "`crbm.load(path, network=module)`"
            if is_own
            else "it has a built-in network; load it without `network`"
        )
    parameters["network"] = network if is_own else parameters["network"]
    classifier = kind(**parameters)
    classifier._check_parameters()
    file_checks.check_tensors(tensors)
    _restore_fitted(classifier, described["fitted"])
    examples = below(EXAMPLES, tensors)
    weights = {k: t for k, t in tensors.items() if not k.startswith(EXAMPLES)}
    _restore_model(classifier, weights, described["fitted"])
    trained_on = described["fitted"].get("trained_on_", {})
    if not isinstance(trained_on, dict):
        raise ValueError("`trained_on_` is not a dictionary")
    classifier.trained_on_ = trained_on
    if examples:
        in_order = [examples[str(place)].numpy() for place in range(len(examples))]
        classifier.describe(examples=in_order)
    return classifier


def _restore_fitted(classifier: PixelClassifier, fitted: dict[str, Any]) -> None:
    n_channels, n_labels = fitted["n_channels_"], fitted["n_labels_"]
    checks.whole_number("n_channels_", n_channels, at_least=1)
    checks.whole_number("n_labels_", n_labels, at_least=2)
    classifier.n_channels_, classifier.n_labels_ = n_channels, n_labels
    scaling = torch.tensor(fitted["scaling_"], dtype=torch.float64)
    is_sound = bool(scaling.isfinite().all())
    if scaling.shape != (2, n_channels) or not is_sound or not (scaling[1] > 0).all():
        raise ValueError("`scaling_` is not a mean and a deviation per channel")
    classifier.scaling_ = Scaling(*scaling.tolist())
    # files of version 0.1 do not have it
    classifier.mirrors_ = bool(fitted.get("mirrors_", False))
    classifier.history_ = History.from_dict(fitted["history_"])


def _restore_model(
    classifier: PixelClassifier, tensors: dict[str, Tensor], fitted: dict[str, Any]
) -> None:
    """The model with the stored weights.

    It is made on the meta device, which holds no numbers, so that sizes that a file
    claims and its tensors lack are refused before any memory is taken.
    """
    if isinstance(classifier.network, nn.Module):
        model = classifier._new_model(None)
        model.load_state_dict(tensors)
    else:
        version = _network_version(classifier, tensors, fitted)
        with torch.device("meta"):
            model = classifier._new_model(None, version)
        _check_types(tensors, model.state_dict())
        model.load_state_dict(tensors, assign=True)
    classifier.model_ = model.requires_grad_().eval()
    classifier.classes_ = np.arange(classifier.n_labels_)  # which fit the tensors


def _network_version(
    classifier: PixelClassifier, tensors: dict[str, Tensor], fitted: dict[str, Any]
) -> int:
    """The version of the built-in network that a file has weights of."""
    version = fitted.get("network_version_", UNSTORED_VERSION)
    if classifier.network == "unet" and "network.first.0.weight" not in tensors:
        raise ValueError(
            "its built-in network is version 1, which only development versions before "
            "commit 8d59274 have; load it with one of them, or train it again"
        )
    checks.one_of("network_version_", version, VERSIONS)
    return int(version)


def _check_types(tensors: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        if name in expected and tensor.dtype != expected[name].dtype:
            raise ValueError(f"`{name}` is {tensor.dtype}")
