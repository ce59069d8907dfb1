"""`crbm evaluate`: every measure of a model's predictions on labelled data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import precision_recall_fscore_support

from crbm import metrics, plotting
from crbm.commands.data import Reading, for_model
from crbm.commands.output import claim
from crbm.commands.train import single
from crbm.estimators import (
    HashCRBMClassifier,
    LogisticClassifier,
    StructuredClassifier,
    load,
)

# Joint probabilities of these cost no more than their predictions.
EXACT = (HashCRBMClassifier, LogisticClassifier)


def run(
    model: Path | str,
    source: str,
    *,
    how: Reading = Reading(),  # noqa: B008 - a constant
    per_label: bool = False,
    joint: bool = False,
    draw: Path | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """All measures of a model on data with labels, as plain data.

    Parameters
    ----------
    model, source, how
        The model file; data by name or file. Of data with an official test part,
        that part unless another is named.
    per_label
        Whether to measure each label on its own too.
    joint
        Whether to estimate the joint log loss also where that takes long.
    draw, force
        A PNG or SVG file for the calibration curve, and whether it may be replaced.
    """
    if draw is not None:
        claim(draw, force=force, endings=plotting.ENDINGS)
    classifier = load(model)
    data = for_model(source, classifier, how, usual="test")
    if not data.Y.shape[1]:
        raise ValueError(
            f"`{source}` does not have all labels of the model: "
            f"{', '.join(classifier.label_names_[:10])}. Name them with --labels."
        )
    X, Y = single(data.X), dense(data.Y)
    predicted, p = classifier.predict(X), classifier.predict_proba(X)
    measures = overall(X, Y, predicted, p)
    if joint or isinstance(classifier, EXACT):
        chance = classifier.score_samples(X, Y)
        measures["joint_log_loss"] = metrics.joint_log_loss(chance)
    report: dict[str, Any] = {"model": str(model), "data": source, "n_cases": len(Y)}
    report["metrics"] = measures
    if per_label:
        report["labels"] = each_label(classifier, Y, predicted, p)
    if draw is not None:
        plotting.save(plotting.calibration, draw, Y, p)
    return report


def overall(
    X: Any, Y: np.ndarray, predicted: np.ndarray, p: np.ndarray
) -> dict[str, float]:
    """The measures of all labels together."""
    found = {
        measure.__name__: measure(Y, predicted)
        for measure in (
            metrics.hamming_error,
            metrics.subset_accuracy,
            metrics.micro_f1,
            metrics.macro_f1,
        )
    }
    found["label_log_loss"] = metrics.label_log_loss(Y, p)
    found["expected_calibration_error"] = metrics.expected_calibration_error(Y, p)
    if _is_denoising(X, Y):
        found["changed_error"] = metrics.changed_error(Y, predicted, X)
    return found


def each_label(
    classifier: StructuredClassifier,
    Y: np.ndarray,
    predicted: np.ndarray,
    p: np.ndarray,
) -> list[dict[str, Any]]:
    """The measures of each label on its own."""
    precision, recall, f1, _ = precision_recall_fscore_support(
        Y, predicted, average=None, zero_division=0
    )
    return [
        {
            "label": name,
            "frequency": float(Y[:, i].mean()),
            "error": metrics.hamming_error(Y[:, [i]], predicted[:, [i]]),
            "precision": float(precision[i]),
            "recall": float(recall[i]),
            "f1": float(f1[i]),
            "log_loss": metrics.label_log_loss(Y[:, [i]], p[:, [i]]),
        }
        for i, name in enumerate(classifier.label_names_)
    ]


def meaning(measure: str) -> str:
    """What a measure is, in a line: its own documentation's first."""
    return (getattr(metrics, measure).__doc__ or "").split("\n", 1)[0]


def dense(Y: Any) -> np.ndarray:
    """Labels as an array."""
    return Y.toarray() if issparse(Y) else np.asarray(Y)


def _is_denoising(X: Any, Y: np.ndarray) -> bool:
    """Whether the inputs are noisy versions of the outputs."""
    if issparse(X) or X.shape != Y.shape:
        return False
    return bool(np.isin(X, (0, 1)).all())
