"""Tables with one column per feature or label: CSV, Parquet, Arrow, Excel, JSON."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crbm.datasets.dataset import Array, Dataset
from crbm.datasets.formats._columns import Labels, label_columns
from crbm.datasets.formats._common import file_error, file_name
from crbm.datasets.formats.arrow_table import read_arrow
from crbm.datasets.formats.csv_table import read_csv
from crbm.datasets.formats.excel_table import read_excel
from crbm.datasets.formats.json_table import read_json
from crbm.datasets.formats.parquet_table import read_parquet
from crbm.datasets.formats.set_labels import from_sets, holds_lists, note_on_separator
from crbm.paths import require_file
from crbm.preprocessing import ClassColumns, Table, TableWarning
from crbm.preprocessing.class_columns import hold_classes
from crbm.preprocessing.conversion import to_labels
from crbm.preprocessing.table_encoder import no_column

READERS: dict[str, Callable[..., Table]] = {
    "csv": read_csv,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "excel": read_excel,
    "json": read_json,
}
# The first bytes of a file, and its format.
CONTENTS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "excel",
    b'{"': "json",
}
OLD_EXCEL = b"\xd0\xcf\x11\xe0"


def read_table(
    path: Path | str, kind: str, *, max_bytes: int | None = None, decimal: str = "."
) -> Table:
    """Read the columns of a file as they are.

    `decimal` is the decimal point of a CSV file whose numbers do not show it.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pets.tsv"
    >>> _ = file.write_text("name\\tdog\\nRex\\tyes\\nTom\\tno\\n")
    >>> read_table(file, "csv")
    Table of 2 rows: name (string), dog (string)
    """
    path = Path(path)
    _check_content(path, kind)
    options = {"decimal": decimal} if kind == "csv" else {}
    try:
        return READERS[kind](path, max_bytes=max_bytes, **options)
    except ValueError as error:
        if str(error).startswith(f"`{path}`"):
            raise
        raise file_error(path, str(error)) from error


def _check_content(path: Path, kind: str) -> None:
    """Refuse a file whose first bytes are those of another format."""
    with require_file(path).open("rb") as stream:
        start = stream.read(8)
    if start.startswith(OLD_EXCEL):
        raise file_error(path, "an old Excel file (.xls). Save it as .xlsx.")
    for mark, found in CONTENTS.items():
        if start.startswith(mark) and found != kind:
            raise file_error(
                path,
                f"the name or --format says {kind}, but the content is {found}. Rename "
                f"the file, or name the format: `--format {found}`.",
            )


def read(
    path: Path | str,
    kind: str,
    labels: Labels,
    *,
    label_separator: str | None = None,
    raw: bool = False,
    max_bytes: int | None = None,
) -> Dataset:
    """Read a table whose columns are features and labels.

    Parameters
    ----------
    path, kind, max_bytes
        The file, a key of `READERS`, and a limit on its uncompressed size.
    labels
        Names of the label columns, which become the columns of `Y` in this order; or
        their number: n for the first n columns, -n for the last n. ``()`` for a table
        without labels. Columns of classes become a label per class.
    label_separator
        What stands between the labels of a row where one column has all of them.
    raw
        Whether `X` is a `Table` even if its columns are all numbers.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = file.write_text("weight,is\\n30.5,dog;big\\n4,cat\\n")
    >>> data = read(file, "csv", ["is"], label_separator=";")
    >>> data.feature_names, data.X.tolist(), data.label_names, data.Y.tolist()
    (('weight',), [[30.5], [4.0]], ('big', 'cat', 'dog'), [[1, 0, 1], [0, 1, 0]])
    """
    path = Path(path)
    table = read_table(path, kind, max_bytes=max_bytes)
    for note in table.notes:
        warnings.warn(f"`{path}`: {note}.", TableWarning, stacklevel=3)
    return to_dataset(path, table, labels, label_separator, raw=raw)


def to_dataset(
    path: Path,
    table: Table,
    labels: Labels,
    label_separator: str | None = None,
    *,
    raw: bool = False,
) -> Dataset:
    """The labels of a table, and its other columns as the inputs."""
    names = [table.names[place] for place in label_columns(path, table.names, labels)]
    features, columns, source = table.without(names), None, None
    if _are_classes(table, names, label_separator):
        columns, values = _class_columns(path, table.select(names))
        Y = _whole(columns.encode(values).numpy())
        label_names = columns.label_names
    else:
        Y, label_names, source = _labels(path, table, names, label_separator)
    return Dataset(
        X=features if raw else _numbers_if_plain(features),
        Y=Y,
        name=file_name(path),
        feature_names=tuple(features.names),
        label_names=tuple(label_names),
        label_source=source,
        columns=columns,
    )


def _class_columns(path: Path, table: Table) -> tuple[ClassColumns, np.ndarray]:
    try:
        return ClassColumns.from_table(table)
    except ValueError as error:
        raise file_error(path, str(error)) from None


def _are_classes(table: Table, names: list[str], separator: str | None) -> bool:
    has_sets = separator is not None or any(holds_lists(table, n) for n in names)
    return bool(names) and not has_sets and hold_classes(table.select(names))


def _labels(
    path: Path, table: Table, names: list[str], separator: str | None
) -> tuple[Array, list[str], dict[str, Any] | None]:
    """The labels as 0 and 1, their names, and the column of sets they came from."""
    has_sets = separator is not None or any(holds_lists(table, n) for n in names)
    if has_sets and len(names) == 1:
        note = note_on_separator(table, names[0], separator)
        if note:
            warnings.warn(f"`{path}`: {note}", TableWarning, stacklevel=5)
        values, found = from_sets(table, names[0], separator)
        return _whole(values), found, {"column": names[0], "separator": separator}
    if has_sets:
        problem = f"sets of labels need one label column; {len(names)} are named."
        raise file_error(path, problem)
    values = np.empty((len(table), len(names)))
    for place, name in enumerate(names):
        values[:, place] = to_labels(table, name)
    return _whole(values), names, None


def _whole(values: Array) -> Array:
    """Labels as bytes, or as float32 with NaN where some are missing."""
    return values.astype(np.float32 if np.isnan(values).any() else np.uint8)


def _numbers_if_plain(table: Table) -> Any:
    """A matrix, if all columns are finite numbers or booleans."""
    values = [column.values for column in table.columns.values()]
    kinds = {column.kind for column in table.columns.values()}
    if not kinds <= {"number", "boolean"}:
        return table
    matrix = np.column_stack(values) if values else np.empty((len(table), 0))
    with np.errstate(over="ignore"):
        matrix = matrix.astype(np.float32)
    return matrix if np.isfinite(matrix).all() else table


def with_options(
    data: Dataset,
    *,
    drop: tuple[str, ...] = (),
    categorical: tuple[str, ...] = (),
    text: tuple[str, ...] = (),
) -> Dataset:
    """A raw data set without some columns, and with the kinds of others fixed."""
    table: Table = data.X
    for name in (*drop, *categorical, *text):
        if name in data.label_names:
            raise ValueError(f"Column `{name}` is a label; it cannot be an input too.")
        if name not in table.columns:
            raise ValueError(no_column(name, table.names))
    table = table.without(drop).mark("categorical", categorical).mark("text", text)
    if not table.columns:
        raise ValueError("No column is left for the inputs. Drop or label fewer.")
    return replace(data, X=table, feature_names=tuple(table.names))
