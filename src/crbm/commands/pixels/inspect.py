"""`crbm inspect` for a model of pixels: its size, labels and training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crbm import persistence
from crbm.commands.inspect import describe_training
from crbm.commands.pixels.model import labels_of
from crbm.estimators import PixelClassifier
from crbm.estimators.pixels import files


def run(classifier: PixelClassifier, model: Path | str) -> dict[str, Any]:
    """Describe a model from its file, as plain data."""
    report = {"file": str(model), **describe(classifier)}
    report["versions"] = persistence.read(model)[1].get("versions", {})
    return report


def describe(classifier: PixelClassifier) -> dict[str, Any]:
    """Kind, sizes, labels, parameters and training of a fitted classifier."""
    data = dict(getattr(classifier, "trained_on_", {}))
    data.pop("labels", None)
    described = files.description(classifier)
    return {
        "kind": described["class"],
        "n_channels": classifier.n_channels_,
        "n_labels": classifier.n_labels_,
        "n_parameters": sum(p.numel() for p in classifier.model_.parameters()),
        "label_names": list(labels_of(classifier).names),
        "trained_on": data or None,
        "settings": described["parameters"],
        "training": [describe_training(classifier.history_)],
        "versions": described["versions"],
    }
