"""`crbm inspect`: describe a model file and how its labels depend on each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from crbm import persistence, plotting
from crbm.commands import notices
from crbm.commands.images import image_shape
from crbm.commands.output import check_output_path
from crbm.estimators import (
    AutoClassifier,
    LabelSetClassifier,
    StructuredClassifier,
    files,
    load,
)
from crbm.inference import couplings
from crbm.preprocessing.description import describe as describe_columns
from crbm.training import History

# Couplings are averaged over up to N_STATES label sets, and left out for models with
# more than MOST_LABELS labels.
N_STATES, MOST_LABELS = 200, 400


def run(
    model: Path | str,
    *,
    n_pairs: int = 5,
    draw: Path | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Describe a model from its file alone, as plain data.

    Parameters
    ----------
    model
        The model file.
    n_pairs
        How many of the most attracting and of the most excluding label pairs to list.
    draw, force
        A PNG or SVG file for the filters of an image model or the label couplings of
        another, and whether an existing file may be replaced.
    """
    if draw is not None:
        check_output_path(draw, force=force, endings=plotting.ENDINGS)
    classifier = load(model)
    report = {"file": str(model), **describe(classifier)}
    report["versions"] = persistence.read(model)[1].get("versions", {})
    shape = image_shape(classifier)
    if shape is None and is_coupled(classifier):
        strength = label_couplings(classifier)
        names = classifier.label_names_
        report |= strongest_pairs(strength, names, n_pairs)
        report["notices"] = notices.about_couplings(strength)
        if draw is not None:
            plotting.save(plotting.label_couplings, draw, strength, names)
    elif draw is not None:
        _draw_filters(classifier, shape, draw)
    return report


def describe(classifier: LabelSetClassifier) -> dict[str, Any]:
    """Kind, sizes, labels, parameters and training of a fitted classifier."""
    data = dict(getattr(classifier, "trained_on_", {}))
    features = data.pop("feature_names", None)
    report: dict[str, Any] = {
        "kind": type(classifier).__name__,
        "n_features": classifier.n_features_in_,
        "n_labels": classifier.n_labels_,
        **_describe_members(classifier),
        "label_names": classifier.label_names_,
        "feature_names": features,
        "trained_on": data or None,
        "settings": files.plain_parameters(classifier),
    }
    if hasattr(classifier, "encoder_"):
        report["columns"] = describe_columns(classifier.encoder_)
    if hasattr(classifier, "candidate_recall_"):
        report["candidate_recall"] = classifier.candidate_recall_
        report["n_label_sets"] = len(classifier.label_sets_)
    return report


def _describe_members(classifier: LabelSetClassifier) -> dict[str, Any]:
    """The size and training of the members, or the leaderboard of a pool of them."""
    if isinstance(classifier, AutoClassifier):
        entries = [entry._asdict() for entry in classifier.leaderboard_]
        return {"n_members": len(classifier.pool_.members), "training": entries}
    assert isinstance(classifier, StructuredClassifier)
    model = classifier.models_[0]
    return {
        "n_hidden": getattr(model, "n_hidden", 0),
        "n_members": len(classifier.models_),
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "training": [describe_training(history) for history in classifier.histories_],
    }


def is_coupled(classifier: LabelSetClassifier) -> bool:
    """Whether the labels depend on each other and are few enough for all pairs."""
    if not isinstance(classifier, StructuredClassifier):
        return False
    model: Any = classifier.models_[0]
    example = next(model.parameters()).new_zeros(1, files.n_model_inputs(classifier))
    energy = model.condition(example)
    if classifier.columns_ is not None:
        return False  # log odds ratios are of labels that are present or absent
    return not energy.is_independent and 1 < classifier.n_labels_ <= MOST_LABELS


def label_couplings(
    classifier: LabelSetClassifier,
) -> Float[np.ndarray, "labels labels"]:
    """How much each label raises the log-odds of each other label.

    The log odds ratios of `crbm.inference.couplings` at input 0, the mean of
    standardised inputs, averaged over label sets of the training data and over the
    members of an ensemble.
    """
    sets = classifier.label_sets_
    dtype = next(classifier.models_[0].parameters()).dtype
    v = sets[:: max(1, len(sets) // N_STATES)].to(dtype)
    u = v.new_zeros(1, files.n_model_inputs(classifier))
    members = [couplings.run(model.condition(u), v) for model in classifier.models_]
    return torch.stack(members).mean(0).double().numpy()


def strongest_pairs(
    strength: Float[np.ndarray, "labels labels"], names: list[str], n_pairs: int
) -> dict[str, list[tuple[str, str, float]]]:
    """The label pairs that attract most and that exclude most, strongest first."""
    rows, columns = np.triu_indices(len(names), k=1)
    values = strength[rows, columns]
    order = np.argsort(values)

    def named(places: np.ndarray) -> list[tuple[str, str, float]]:
        return [(names[rows[i]], names[columns[i]], float(values[i])) for i in places]

    attract = [place for place in order[::-1][:n_pairs] if values[place] > 0]
    exclude = [place for place in order[:n_pairs] if values[place] < 0]
    return {"attract": named(np.array(attract)), "exclude": named(np.array(exclude))}


def _draw_filters(
    classifier: LabelSetClassifier, shape: tuple[int, int] | None, path: Path
) -> None:
    models = getattr(classifier, "models_", [None])
    if shape is None or not getattr(models[0], "n_hidden", 0):
        raise ValueError(
            f"There is nothing to draw: a {type(classifier).__name__} of "
            f"{classifier.n_labels_} labels has neither image filters nor couplings."
        )
    weights = models[0].state_dict()["weight_vh"].numpy()
    plotting.save(plotting.filters, path, weights, shape)


def describe_training(history: History) -> dict[str, Any]:
    """Epochs, losses and seconds of one training."""
    best = history.best_epoch
    return {
        "epochs": len(history.epochs),
        "first_loss": history.loss[0] if history.epochs else None,
        "last_loss": history.loss[-1] if history.epochs else None,
        "best_epoch": best,
        "validation": None if best is None else history.validation[best],
        "stopped": history.stopped,
        "seconds": sum(epoch.seconds for epoch in history.epochs),
    }
