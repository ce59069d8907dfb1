"""Load the data that a command names: a known data set or a file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from crbm import checks, datasets
from crbm.commands import tables
from crbm.commands.reading import Reading
from crbm.datasets import Dataset
from crbm.datasets.files import TABLES, format_of
from crbm.estimators import LabelSetClassifier
from crbm.estimators.inputs import column_names
from crbm.paths import require_file
from crbm.preprocessing import Table

PARTS = ("train", "valid", "test")


def load(source: str, reading: Reading) -> Dataset:
    """Load all rows of a data set by name or of a file."""
    path = Path(source)
    if not path.exists() and (source in datasets.names() or not path.suffix):
        return datasets.load(source)
    if not path.exists():
        raise FileNotFoundError(
            f"There is no data file `{source}`. `crbm data list` lists known names."
        )
    require_file(path)
    kind = reading.format or format_of(path)
    if kind in TABLES:
        return tables.read_for_training(path, kind, reading)
    _refuse_column_options(path, reading)
    options = _libsvm_options(path, reading)
    return datasets.read(path, reading.labels, reading.format, **options)


def select_part(data: Dataset, part: str | None, default: str = "all") -> Dataset:
    """Select the rows of a part.

    A part is an official split if the data set has splits, else a part of the first
    80/10/10 fold. If `part` is None, it is `default` if that is an official split, else
    all rows.
    """
    if part is None and default in data.splits:
        part = default
    if part is None or part == "all":
        return data
    if part in data.splits:
        return _named(part, _select_rows(data, data.splits[part]))
    if data.splits or part not in PARTS:
        known = ", ".join(f"`{name}`" for name in (*(data.splits or PARTS), "all"))
        raise ValueError(
            f"`{data.name}` has no part `{part}`; it has {known}. Choose one of them."
        )
    return _named(part, _select_rows(data, getattr(datasets.folds(data)[0], part)))


def _named(part: str, rows: Dataset) -> Dataset:
    """The rows of a part, of which all are that part."""
    return replace(rows, splits={part: np.arange(len(rows))})


def identity(source: str, data: Dataset) -> dict[str, str]:
    """Which rows these are: name, part and, for a file, its checksum."""
    whole = [name for name, rows in data.splits.items() if len(rows) == len(data)]
    found = {"name": data.name, "part": whole[0] if whole else "all"}
    if Path(source).is_file():
        with Path(source).open("rb") as stream:
            found["sha256"] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found


def for_model(
    source: str,
    classifier: LabelSetClassifier,
    reading: Reading,
    default_part: str = "all",
    *,
    labels: bool = True,
) -> Dataset:
    """Load data with the model's features and, if all of them are present, its labels.

    Named columns are matched by name, in any order; others are ignored. Without names
    the numbers of features and labels must equal those of the model. Without `labels`
    the labels of a table are not read.
    """
    path = Path(source)
    kind = (reading.format or format_of(path)) if path.is_file() else None
    if kind in TABLES:
        data = tables.read_for_model(path, kind, classifier, reading, labels=labels)
        return select_part(data, reading.part, default_part)
    if reading.labels is None and kind == "arff":
        reading = reading._replace(labels=())
    reading = reading._replace(
        n_features=reading.n_features or classifier.n_features_in_,
        n_labels=reading.n_labels or classifier.n_labels_,
    )
    data = select_part(load(source, reading), reading.part, default_part)
    names = tuple(classifier.label_names_ or ())
    return replace(
        data,
        X=_features(data, classifier),
        Y=_labels(data, names),
        feature_names=(),
        label_names=(),
    )


def to_dense(Y: Any) -> np.ndarray:
    """The labels as a dense array."""
    return Y.toarray() if issparse(Y) else np.asarray(Y)


def _refuse_column_options(path: Path, reading: Reading) -> None:
    if reading.drop or reading.categorical or reading.text or reading.label_separator:
        raise ValueError(
            f"`{path}` is not a table: --drop, --categorical, --text and "
            "--label-separator are for CSV, Parquet, Arrow, Excel and JSON."
        )


def _libsvm_options(path: Path, reading: Reading) -> dict[str, Any]:
    if (reading.format or format_of(path)) != "libsvm":
        return {}
    sizes = {"n_features": reading.n_features, "n_labels": reading.n_labels}
    return {**sizes, "zero_based": reading.zero_based}


def _select_rows(data: Dataset, rows: np.ndarray) -> Dataset:
    groups = None if data.groups is None else data.groups[rows]
    return replace(data, X=data.X[rows], Y=data.Y[rows], groups=groups, splits={})


def _features(data: Dataset, classifier: LabelSetClassifier) -> Any:
    known = column_names(classifier) or []
    missing = [name for name in known if name not in data.feature_names]
    if known and not missing:
        X = _columns(data, known)
        is_encoded = hasattr(classifier, "encoder_")
        return Table.from_array(_dense(X), known) if is_encoded else X
    if data.X.shape[1] == classifier.n_features_in_:
        return data.X
    lacking = f"; `{missing[0]}` is missing" if missing else ""
    raise ValueError(
        f"The model needs {classifier.n_features_in_} features; `{data.name}` has "
        f"{data.X.shape[1]}{lacking}. Give it the columns the model was trained on."
    )


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if issparse(X) else np.asarray(X)


def _columns(data: Dataset, names: Sequence[str]) -> Any:
    place = {name: column for column, name in enumerate(data.feature_names)}
    return data.X[:, [place[name] for name in names]]


def _labels(data: Dataset, names: Sequence[str]) -> Any:
    if set(names) <= set(data.label_names):
        place = {name: column for column, name in enumerate(data.label_names)}
        return data.Y[:, [place[name] for name in names]]
    if set(names) <= set(data.feature_names):
        return _binary(_columns(data, names), names, data.name)
    if data.Y.shape[1] == len(names) and _is_unnamed(data.label_names, names):
        return data.Y
    return np.zeros((len(data), 0), np.uint8)


def _binary(values: Any, names: Sequence[str], source: str) -> np.ndarray:
    values = _dense(values)
    place = checks.first_not_binary(values)
    if place is not None:
        row, column = place
        raise ValueError(
            f"`{source}`, row {row + 1}: label `{names[column]}` must be 0 or 1, not "
            f"{values[row, column]:g}. Binarise it."
        )
    return values.astype(np.uint8)


def _is_unnamed(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether either has only the names y0, y1, ... given to unnamed columns."""
    numbered = tuple(f"y{i}" for i in range(len(one)))
    return numbered in (tuple(one), tuple(other))
