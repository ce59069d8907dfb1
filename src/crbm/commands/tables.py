"""Tables for training and for a model that knows which columns it needs."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from crbm import datasets
from crbm.commands.reading import Reading
from crbm.datasets import Dataset
from crbm.datasets.files import format_of
from crbm.datasets.formats._columns import label_columns
from crbm.datasets.formats.set_labels import from_sets, likely_separator
from crbm.datasets.formats.table import read_table, to_dataset, with_options
from crbm.estimators import LabelSetClassifier
from crbm.estimators.inputs import column_names, needs_encoder
from crbm.preprocessing import ClassColumns, Table, TableWarning
from crbm.preprocessing.columns import number_matrix
from crbm.preprocessing.conversion import ADVICE, WrongValueError, to_labels
from crbm.preprocessing.table_encoder import no_column


def read_for_training(path: Path, kind: str, reading: Reading) -> Dataset:
    """Read the labels and the raw inputs of a table."""
    if reading.labels is None:
        names = ", ".join(f"`{name}`" for name in read_table(path, kind).names[-5:])
        raise ValueError(
            f"`{path}`: name the columns of the labels with --labels, as in `--labels "
            f"a,b`. The last columns of the file are {names}."
        )
    data = datasets.read(
        path, reading.labels, kind, label_separator=reading.label_separator, raw=True
    )
    options = {"drop": reading.drop, "categorical": reading.categorical}
    return with_options(data, **options, text=reading.text)


def read_for_model(
    path: Path,
    kind: str,
    classifier: LabelSetClassifier,
    reading: Reading,
    *,
    labels: bool = True,
) -> Dataset:
    """Read the columns that a model needs and, if all are there, its labels.

    Columns are found by name, in any order; others are ignored. Without `labels`
    theirs are, too.
    """
    table = read_table(path, kind, decimal=_decimal_point(classifier))
    Y = np.zeros((len(table), 0), np.uint8)
    if labels:
        Y = _labels(path, table, classifier, reading)
    names = column_names(classifier)
    if names is None:
        X = _all_columns(path, table, classifier)
    else:
        _check_columns(path, table, names)
        X = table.select(names)
    return Dataset(X=X, Y=Y, name=path.stem)


def no_classes(source: str, reading: Reading, model: str) -> ValueError:
    """The error of a model that cannot learn the classes in the label columns.

    It names the first value that is neither yes nor no.
    """
    path = Path(source)
    table = read_table(path, reading.format or format_of(path))
    places = label_columns(path, table.names, reading.labels)  # type: ignore[arg-type]
    for name in (table.names[place] for place in places):
        try:
            to_labels(table, name)
        except WrongValueError as error:
            problem = str(error).removesuffix(f". {ADVICE}")
            mark = likely_separator([v for v in table[name].values if v is not None])
            sets = f"add `--label-separator '{mark}'` for sets, " if mark else ""
            return ValueError(
                f"{problem}, and `{model}` does not predict classes. Correct it, {sets}"
                "or use --model hash-crbm, crbm or logreg."
            )
    return ValueError(f"`{source}`: `{model}` does not predict classes.")


def note_on_sets(columns: ClassColumns) -> str:
    """A notice if a column of classes seems to hold sets of labels, else nothing."""
    for name, own in zip(columns.names, columns.classes, strict=True):
        texts = [text for text in own.tolist() if isinstance(text, str)]
        mark = likely_separator(texts)
        if mark:
            first = next(text for text in texts if mark in text)
            return (
                f"Column `{name}` is read as classes such as {first!r}. If these are "
                f"sets of labels, add `--label-separator '{mark}'`."
            )
    return ""


def _decimal_point(classifier: LabelSetClassifier) -> str:
    """The decimal point of the numbers that the model learned from, as far as known."""
    recognised = getattr(getattr(classifier, "encoder_", None), "recognised_", {})
    found = any((c.kind, c.form) == ("number", ",") for c in recognised.values())
    return "," if found else "."


def to_inputs(X: Any, classifier: LabelSetClassifier | None = None) -> Any:
    """X as a classifier takes it: a table if it has to be encoded, else float32.

    Single precision trains twice as fast as double.
    """
    if not isinstance(X, Table):
        return X.astype(np.float32)
    if classifier is None:
        is_encoded = needs_encoder(X)
    else:
        is_encoded = hasattr(classifier, "encoder_")
    return X if is_encoded else to_matrix(X)


def to_matrix(table: Table) -> np.ndarray:
    """Columns of numbers side by side, NaN where one is missing."""
    points = ["."] * len(table.columns)
    return number_matrix(table, table.names, points).astype(np.float32)


def _labels(
    path: Path, table: Table, classifier: LabelSetClassifier, reading: Reading
) -> np.ndarray:
    names = list(classifier.label_names_)
    if classifier.columns_ is not None:
        return _classes(table, classifier.columns_)
    source = label_source(classifier)
    if isinstance(reading.labels, Path):
        raise ValueError(f"`{path}` is a table: --labels must name its columns.")
    if reading.labels:
        data = to_dataset(path, table, reading.labels, reading.label_separator)
        return _in_order(data, names)
    if source is not None and source["column"] in table.columns:
        column, separator = source["column"], source["separator"]
        _warn_of_others(path, from_sets(table, column, separator)[1], names)
        return from_sets(table, column, separator, names)[0]
    if all(name in table.columns for name in names):
        return np.column_stack([to_labels(table, name) for name in names])
    return np.zeros((len(table), 0), np.uint8)


def label_source(classifier: LabelSetClassifier) -> dict[str, Any] | None:
    """The column of sets that the labels came from, with its separator."""
    found = getattr(classifier, "trained_on_", {}).get("label_source")
    return found if isinstance(found, dict) else None


def _warn_of_others(path: Path, found: list[str], known: list[str]) -> None:
    others = sorted(set(found) - set(known))
    if others:
        listed = ", ".join(f"`{name}`" for name in others[:5])
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        problem = f"left out labels that the model does not know: {listed}{more}."
        warnings.warn(f"`{path}`: {problem}", TableWarning, stacklevel=5)


def _classes(table: Table, columns: ClassColumns) -> np.ndarray:
    """The classes of the model's columns as 0 and 1, if all columns are there."""
    if not all(name in table.columns for name in columns.names):
        return np.zeros((len(table), 0), np.uint8)
    return columns.encode_table(table).numpy()


def _in_order(data: Dataset, names: list[str]) -> np.ndarray:
    """The labels of a data set in the order of the model's, or none."""
    place = {name: column for column, name in enumerate(data.label_names)}
    if set(names) <= set(place):
        return np.asarray(data.Y[:, [place[name] for name in names]])
    return np.zeros((len(data), 0), np.uint8)


def _all_columns(path: Path, table: Table, classifier: LabelSetClassifier) -> Table:
    columns = classifier.columns_
    features = table.without(columns.names if columns else classifier.label_names_)
    if len(features.columns) != classifier.n_features_in_:
        raise ValueError(
            f"The model needs {classifier.n_features_in_} features; `{path}` has "
            f"{len(features.columns)}. Give it the columns the model was trained on."
        )
    return features


def _check_columns(path: Path, table: Table, names: list[str]) -> None:
    for name in names:
        if name not in table.columns:
            raise ValueError(f"`{path}`: {no_column(name, table.names)}")
