"""Measure a trained model on held-out rows, and write a page about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crbm.commands import inspect, notices, report
from crbm.commands.assessment import FEWEST_ROWS, Assessment, assess
from crbm.commands.data import to_dense
from crbm.datasets import Dataset
from crbm.estimators import LabelSetClassifier


def run(
    classifier: LabelSetClassifier,
    data: Dataset,
    out: Path,
    fraction: float,
    **fit_options: Any,
) -> dict[str, Any]:
    """Measure a model that is saved in `out`; return the measures as plain data.

    Parameters
    ----------
    classifier, data
        The fitted classifier, and the rows that it learned from.
    out
        The model file; the page is written beside it.
    fraction
        The share of the rows to hold out; 0 measures nothing.
    fit_options
        Further arguments of `fit`.
    """
    names = classifier.label_names_
    found = notices.about_data(to_dense(data.Y).astype(float), names)
    assessment, problems = _try_to_assess(classifier, data, fraction, fit_options)
    found += problems
    if assessment is not None:
        found += notices.about_predictions(assessment, names)
    if inspect.is_coupled(classifier):
        found += notices.about_couplings(inspect.label_couplings(classifier))
    path = report.path_of(out)
    report.write(path, classifier, assessment, found)
    plain = {} if assessment is None else {"held_out": assessment.as_dict()}
    return {"report": str(path), "notices": found, **plain}


def _try_to_assess(
    classifier: LabelSetClassifier,
    data: Dataset,
    fraction: float,
    fit_options: dict[str, Any],
) -> tuple[Assessment | None, list[str]]:
    """The assessment, or a notice why there is none; the model is saved already."""
    if not fraction:
        return None, []
    if len(data) < FEWEST_ROWS:
        return None, [f"Fewer than {FEWEST_ROWS} rows: the error was not measured."]
    try:
        return assess(classifier, data, fraction=fraction, **fit_options), []
    except KeyboardInterrupt:
        return None, ["Interrupted: the error on held-out rows was not measured."]
    except ValueError as error:
        return None, [f"The error on held-out rows was not measured: {error}"]
