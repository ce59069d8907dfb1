"""`crbm predict`: labels, probabilities or likely label sets for each row of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crbm.commands.data import Reading, for_model
from crbm.commands.known import read_known
from crbm.commands.output import TABLE_ENDINGS, Column, claim, write_table
from crbm.commands.train import single
from crbm.datasets import Dataset
from crbm.estimators import StructuredClassifier, load


class Predictions(NamedTuple):
    """Predictions as a table for people and as arrays for programs."""

    columns: list[Column]
    arrays: dict[str, np.ndarray]


def run(
    model: Path | str,
    source: str,
    *,
    how: Reading = Reading(),  # noqa: B008 - a constant
    proba: bool = False,
    top_k: int | None = None,
    known: Path | None = None,
    out: Path | None = None,
    force: bool = False,
) -> Predictions:
    """Predict for each row, and write the predictions where a file is named.

    Parameters
    ----------
    model, source, how
        The model file; data by name or file, with or without labels.
    proba, top_k
        Probabilities of the labels, or the likeliest label sets and their joint
        probabilities, instead of labels.
    known
        A file of labels known already, empty where unknown.
    out, force
        A CSV, Parquet or NPZ file, and whether it may be replaced.
    """
    if out is not None:
        claim(out, force=force, endings=TABLE_ENDINGS)
    if proba and top_k is not None:
        raise ValueError("Choose one of --proba and --top-k.")
    classifier = load(model)
    data = for_model(source, classifier, how)
    predictions = predicted(classifier, data, proba=proba, top_k=top_k, known=known)
    if out is not None:
        write_table(out, *predictions)
    return predictions


def predicted(
    classifier: StructuredClassifier,
    data: Dataset,
    *,
    proba: bool,
    top_k: int | None,
    known: Path | None,
) -> Predictions:
    """The kind of predictions asked for."""
    names = classifier.label_names_
    X, given = single(data.X), {}
    if known is not None:
        given["known"] = read_known(known, names, len(data))
    if top_k is not None:
        return _sets(*classifier.predict_top_k(X, k=top_k, **given), names)
    if proba:
        return _matrix("probability", classifier.predict_proba(X, **given), names)
    return _matrix("labels", classifier.predict(X, **given), names)


def _matrix(what: str, values: np.ndarray, names: list[str]) -> Predictions:
    columns = [
        Column(name, column) for name, column in zip(names, values.T, strict=True)
    ]
    return Predictions(columns, {what: values, **_names(names)})


def _sets(labels: Any, probability: Any, names: list[str]) -> Predictions:
    n_cases, k = probability.shape
    labels = labels.astype(np.int64)
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
