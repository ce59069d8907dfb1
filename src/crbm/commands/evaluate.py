"""`crbm evaluate`: measure a model's predictions on labelled data."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import precision_recall_fscore_support

from crbm import metrics, plotting
from crbm.commands.data import for_model
from crbm.commands.output import check_output_path
from crbm.commands.reading import Reading
from crbm.commands.tables import to_inputs
from crbm.estimators import (
    LabelSetClassifier,
    load,
)
from crbm.preprocessing import TableWarning


def run(
    model: Path | str,
    source: str,
    *,
    reading: Reading = Reading(),  # noqa: B008 - a constant
    per_label: bool = False,
    joint: bool = False,
    draw: Path | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Measure a model's predictions on labelled data and return plain data.

    Parameters
    ----------
    model
        The model file.
    source, reading
        A data set by name or a file, and how to read it. `reading.part` defaults to the
        official test part, if the data set has one.
    per_label
        Whether to measure each label too.
    joint
        Whether to estimate the joint log loss even if that is slow.
    draw, force
        A PNG or SVG file for the calibration curve, and whether an existing file may be
        replaced.
    """
    if draw is not None:
        check_output_path(draw, force=force, endings=plotting.ENDINGS)
    classifier = load(model)
    data = for_model(source, classifier, reading, default_part="test")
    if not data.Y.shape[1]:
        raise ValueError(
            f"`{source}` does not have all labels of the model: "
            f"{', '.join(classifier.label_names_[:10])}. Name them with --labels."
        )
    X, Y = _with_all_labels(to_inputs(data.X, classifier), to_dense(data.Y))
    predicted, p = classifier.predict(X), classifier.predict_proba(X)
    measures = overall_measures(X, Y, predicted, p)
    if joint or classifier.has_cheap_joint:
        log_probability = classifier.score_samples(X, Y)
        measures["joint_log_loss"] = metrics.joint_log_loss(log_probability)
    report: dict[str, Any] = {"model": str(model), "data": source, "n_cases": len(Y)}
    report["metrics"] = measures
    if per_label:
        report["labels"] = label_measures(classifier, Y, predicted, p)
    if draw is not None:
        plotting.save(plotting.calibration, draw, Y, p)
    return report


def overall_measures(
    X: Any, Y: np.ndarray, predicted: np.ndarray, p: np.ndarray
) -> dict[str, float]:
    """The measures over all labels."""
    measures = {
        measure.__name__: measure(Y, predicted)
        for measure in (
            metrics.hamming_error,
            metrics.subset_accuracy,
            metrics.micro_f1,
            metrics.macro_f1,
        )
    }
    measures["label_log_loss"] = metrics.label_log_loss(Y, p)
    measures["expected_calibration_error"] = metrics.expected_calibration_error(Y, p)
    if _is_denoising(X, Y):
        measures["changed_error"] = metrics.changed_error(Y, predicted, X)
    return measures


def label_measures(
    classifier: LabelSetClassifier,
    Y: np.ndarray,
    predicted: np.ndarray,
    p: np.ndarray,
) -> list[dict[str, Any]]:
    """The measures of each label."""
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
    """The first line of a measure's docstring."""
    return (getattr(metrics, measure).__doc__ or "").split("\n", 1)[0]


def to_dense(Y: Any) -> np.ndarray:
    """The labels as a dense array."""
    return Y.toarray() if issparse(Y) else np.asarray(Y)


def _with_all_labels(X: Any, Y: np.ndarray) -> tuple[Any, np.ndarray]:
    """The cases of which all labels are known."""
    complete = ~np.isnan(Y).any(axis=1)
    if complete.all():
        return X, Y
    if not complete.any():
        raise ValueError("Every row misses a label, so that nothing can be measured.")
    note = f"{int((~complete).sum())} rows with missing labels are left out."
    warnings.warn(note, TableWarning, stacklevel=3)
    return X[complete], Y[complete]


def _is_denoising(X: Any, Y: np.ndarray) -> bool:
    """Whether the inputs are noisy versions of the outputs."""
    if not isinstance(X, np.ndarray) or X.shape != Y.shape:
        return False
    return bool(np.isin(X, (0, 1)).all())
