"""The data that a command names: a data set known by name, or a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crbm import datasets
from crbm.datasets import Dataset
from crbm.datasets.reading import format_of
from crbm.estimators import StructuredClassifier

NAMED_COLUMNS = ("arff", "csv", "parquet")
PARTS = ("train", "valid", "test")


class Reading(NamedTuple):
    """How to read a file, where the file itself does not tell.

    `labels` as for `crbm.datasets.read`; sizes and `zero_based` are for libsvm; `part`
    names the rows wanted, "all" or nothing for all of them.
    """

    labels: Sequence[str] | Path | int | None = None
    format: str | None = None
    n_labels: int | None = None
    n_features: int | None = None
    zero_based: bool = False
    part: str | None = None


def parse_labels(text: str | None) -> Sequence[str] | Path | int | None:
    """The labels as a user writes them: names, a number, a file, or `none`.

    Examples
    --------
    >>> parse_labels("dog,cat"), parse_labels("-14"), parse_labels("none")
    (('dog', 'cat'), -14, ())
    """
    if text is None:
        return None
    if text.removeprefix("-").isdigit():
        return int(text)
    if text.strip() in ("", "none"):
        return ()
    if Path(text).is_file():
        return Path(text)
    return tuple(name.strip() for name in text.split(","))


def load(source: str, how: Reading) -> Dataset:
    """The whole data set that a name or a file holds."""
    path = Path(source)
    if not path.exists() and (source in datasets.names() or not path.suffix):
        return datasets.load(source)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no data file `{source}`. Names are listed by `crbm data list`."
        )
    return datasets.read(path, how.labels, how.format, **_options(path, how))


def chosen(data: Dataset, part: str | None, usual: str = "all") -> Dataset:
    """The rows of a part: an official one, else of the first fold of 80/10/10.

    Unless a part is named it is the usual one, where that is official, or all rows.
    """
    if part is None and usual in data.splits:
        part = usual
    if part is None or part == "all":
        return data
    if part in data.splits:
        return _rows(data, data.splits[part])
    if data.splits or part not in PARTS:
        known = ", ".join(f"`{name}`" for name in (*(data.splits or PARTS), "all"))
        raise ValueError(
            f"`{data.name}` has no part `{part}`; it has {known}. Choose one of them."
        )
    return _rows(data, getattr(datasets.folds(data)[0], part))


def for_model(
    source: str, classifier: StructuredClassifier, how: Reading, usual: str = "all"
) -> Dataset:
    """The rows wanted, with the model's features and, where all are there, its labels.

    Columns with names are found by name, in any order and among others. Without names
    the features must be as many as the model has, and so must the labels.
    """
    path = Path(source)
    if how.labels is None and path.is_file():
        kind = how.format or format_of(path)
        how = how._replace(labels=() if kind in NAMED_COLUMNS else None)
    how = how._replace(
        n_features=how.n_features or classifier.n_features_in_,
        n_labels=how.n_labels or classifier.n_labels_,
    )
    data = chosen(load(source, how), how.part, usual)
    names = tuple(classifier.label_names_ or ())
    return replace(
        data,
        X=_features(data, classifier),
        Y=_labels(data, names),
        feature_names=(),
        label_names=(),
    )


def _options(path: Path, how: Reading) -> dict[str, Any]:
    if (how.format or format_of(path)) != "libsvm":
        return {}
    sizes = {"n_features": how.n_features, "n_labels": how.n_labels}
    return {**sizes, "zero_based": how.zero_based}


def _rows(data: Dataset, rows: np.ndarray) -> Dataset:
    groups = None if data.groups is None else data.groups[rows]
    return replace(data, X=data.X[rows], Y=data.Y[rows], groups=groups, splits={})


def _features(data: Dataset, classifier: StructuredClassifier) -> Any:
    known = getattr(classifier, "trained_on_", {}).get("feature_names", ())
    missing = [name for name in known if name not in data.feature_names]
    if known and not missing:
        return _columns(data, known)
    if data.X.shape[1] == classifier.n_features_in_:
        return data.X
    lacking = f"; `{missing[0]}` is missing" if missing else ""
    raise ValueError(
        f"The model needs {classifier.n_features_in_} features; `{data.name}` has "
        f"{data.X.shape[1]}{lacking}. Give it the columns the model was trained on."
    )


def _columns(data: Dataset, names: Sequence[str]) -> Any:
    place = {name: column for column, name in enumerate(data.feature_names)}
    return data.X[:, [place[name] for name in names]]


def _labels(data: Dataset, names: Sequence[str]) -> Any:
    if set(names) <= set(data.label_names):
        place = {name: column for column, name in enumerate(data.label_names)}
        return data.Y[:, [place[name] for name in names]]
    if set(names) <= set(data.feature_names):
        return _checked(_columns(data, names), names, data.name)
    if data.Y.shape[1] == len(names) and _without_names(data.label_names, names):
        return data.Y
    return np.zeros((len(data), 0), np.uint8)


def _checked(values: Any, names: Sequence[str], source: str) -> np.ndarray:
    values = values.toarray() if hasattr(values, "toarray") else values
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"`{source}`, row {row + 1}: label `{names[column]}` must be 0 or 1, not "
            f"{values[row, column]:g}. Binarise it."
        )
    return values.astype(np.uint8)


def _without_names(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether either has only the numbered names given to columns without any."""
    numbered = tuple(f"y{i}" for i in range(len(one)))
    return numbered in (tuple(one), tuple(other))
