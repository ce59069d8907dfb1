"""`crbm evaluate`: measure a model's predictions on labelled data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from crbm import metrics, plotting
from crbm.commands import notices
from crbm.commands.data import for_model, identity, to_dense
from crbm.commands.measures import label_measures, overall_measures
from crbm.commands.output import check_output_path
from crbm.commands.reading import Reading
from crbm.commands.tables import label_source, to_inputs
from crbm.estimators import LabelSetClassifier, load


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
        raise _no_labels(source, classifier)
    X, Y = to_inputs(data.X, classifier), to_dense(data.Y)
    if np.isnan(Y).all():
        raise ValueError(
            f"`{source}`: all labels are missing; nothing can be measured."
        )
    predicted, p = classifier.predict_with_proba(X)
    measures = overall_measures(X, Y, predicted, p)
    if joint or classifier.has_cheap_joint:
        log_probability = classifier.score_samples(X, Y)
        measures["joint_log_loss"] = metrics.joint_log_loss(log_probability)
        measures["impossible_share"] = metrics.impossible_share(log_probability)
    report: dict[str, Any] = {"model": str(model), "data": source, "n_cases": len(Y)}
    report["metrics"] = measures
    trained_on = getattr(classifier, "trained_on_", {})
    these = identity(source, data)
    report["notices"] = notices.about_training_data(trained_on, these)
    if per_label:
        report["labels"] = label_measures(classifier.label_names_, Y, predicted, p)
    if draw is not None:
        plotting.save(plotting.calibration, draw, Y, p)
    return report


def _no_labels(source: str, classifier: LabelSetClassifier) -> ValueError:
    """The error that data without all labels of the model give."""
    columns = label_source(classifier)
    if columns is not None:
        where = f"the column `{columns['column']}`, which holds the labels"
    else:
        where = f"all labels of the model, {notices.listed(classifier.label_names_)}"
    return ValueError(
        f"`{source}` does not have {where}. Name other columns with --labels."
    )
