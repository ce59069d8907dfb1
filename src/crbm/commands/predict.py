"""`crbm predict`: labels, probabilities or likely label sets of each row of a file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from crbm.commands.data import for_model
from crbm.commands.known import read_known
from crbm.commands.output import (
    TABLE_ENDINGS,
    Column,
    check_not_input,
    check_output_path,
    write_table,
)
from crbm.commands.reading import Reading
from crbm.commands.tables import to_inputs
from crbm.datasets import Dataset
from crbm.estimators import LabelSetClassifier, load


class Predictions(NamedTuple):
    """Predictions as the columns of a table and as arrays."""

    columns: list[Column]
    arrays: dict[str, np.ndarray]


def run(
    model: Path | str,
    source: str,
    *,
    reading: Reading = Reading(),  # noqa: B008 - a constant
    proba: bool = False,
    top_k: int | None = None,
    known: Path | None = None,
    out: Path | None = None,
    force: bool = False,
) -> Predictions:
    """Predict for each row, and write the predictions to `out` if it is given.

    Parameters
    ----------
    model
        The model file.
    source, reading
        A data set by name or a file, with or without labels, and how to read it.
    proba
        Whether to return probabilities of the labels instead of labels.
    top_k
        Return this many of the most probable label sets, with their joint
        probabilities, instead of labels.
    known
        A file of labels that are known already, empty where a label is unknown.
    out, force
        A CSV, Parquet or NPZ file, and whether an existing file may be replaced.
    """
    if out is not None:
        check_output_path(out, force=force, endings=TABLE_ENDINGS)
        check_not_input(out, (source, known))
    if proba and top_k is not None:
        raise ValueError("Choose one of --proba and --top-k.")
    classifier = load(model)
    data = for_model(source, classifier, reading, labels=False)
    predictions = make_predictions(
        classifier, data, proba=proba, top_k=top_k, known=known
    )
    if out is not None:
        write_table(out, *predictions)
    return predictions


def make_predictions(
    classifier: LabelSetClassifier,
    data: Dataset,
    *,
    proba: bool,
    top_k: int | None,
    known: Path | None,
) -> Predictions:
    """Predict label sets, probabilities or labels."""
    names = classifier.label_names_
    X = to_inputs(data.X, classifier)
    columns, labels = classifier.columns_, None
    if known is not None:
        labels = read_known(known, names, len(data), columns)
    if proba:
        p = classifier.predict_with_proba(X, known=labels)[1]
        return _matrix("probability", p, names)
    outputs = names if columns is None else columns.names
    if top_k is not None:
        top = classifier.predict_top_k(X, k=top_k, known=labels)
        return _label_sets(_as_columns(top.labels), top.probability, outputs)
    found = classifier.predict(X, known=labels)
    return _matrix("labels", found.reshape(len(found), -1), outputs)


def _as_columns(labels: np.ndarray) -> np.ndarray:
    """Label sets with an axis of columns, also of a single one."""
    return labels if labels.ndim == 3 else labels[..., None]


def _matrix(kind: str, values: np.ndarray, names: list[str]) -> Predictions:
    columns = [
        Column(name, column) for name, column in zip(names, values.T, strict=True)
    ]
    return Predictions(columns, {kind: values, **_names(names)})


def _label_sets(
    labels: np.ndarray, probability: np.ndarray, names: list[str]
) -> Predictions:
    n_cases, k = probability.shape
    columns = [
        Column("row", np.repeat(np.arange(1, n_cases + 1), k)),
        Column("rank", np.tile(np.arange(1, k + 1), n_cases)),
        Column("probability", probability.ravel().astype(np.float64)),
        *_matrix("", labels.reshape(n_cases * k, -1), names).columns,
    ]
    arrays = {"labels": labels, "probability": probability, **_names(names)}
    return Predictions(columns, arrays)


def _names(names: list[str]) -> dict[str, np.ndarray]:
    return {"label_names": np.array(names, dtype=np.str_)}
