"""Read CSV and Parquet tables with one column per feature or label.

pyarrow is used instead of pandas because it refuses short rows, which pandas fills
with NaN, and reports the row of a bad value.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from crbm.datasets.dataset import Array, Dataset
from crbm.datasets.formats._columns import (
    Labels,
    inputs,
    label_columns,
    nth_line,
    outputs,
)
from crbm.datasets.formats._common import (
    MAX_BYTES,
    file_error,
    file_name,
    read_text,
    require,
    too_large_error,
)


def read_csv(
    path: Path | str, labels: Labels, *, max_bytes: int = MAX_BYTES
) -> Dataset:
    """Read a CSV file whose first line has the names of the columns.

    Parameters
    ----------
    path
        The file, plain or gzip.
    labels
        Names of the label columns, which become the columns of `Y` in this order; or
        their number: n for the first n columns, -n for the last n. ``()`` for a table
        without labels.
    max_bytes
        Limit on the uncompressed size.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = file.write_text("weight,dog,cat\\n30.5,1,0\\n4,0,1\\n")
    >>> data = read_csv(file, ["dog", "cat"])
    >>> data.feature_names, data.X.tolist(), data.Y.tolist()
    (('weight',), [[30.5], [4.0]], [[1, 0], [0, 1]])
    """
    path = Path(path)
    text = read_text(path, max_bytes)
    names = _header(path, text)
    columns = label_columns(path, names, labels)
    table = _parse_csv(path, text, names)
    if not table.num_rows:
        raise file_error(path, "no rows after the header.")
    return _dataset(path, table, columns, lambda row: nth_line(text, row + 1))


def _header(path: Path, text: str) -> list[str]:
    """Column names, read first so that duplicates are detected."""
    first = text.lstrip("\r\n").split("\n", 1)[0] + "\n"
    names = _pyarrow_csv(path, first, text, {}).schema.names
    return [str(name) for name in names]


def _parse_csv(path: Path, text: str, names: list[str]) -> Any:
    pa = require("pyarrow", "pyarrow", "Reading CSV")
    return _pyarrow_csv(path, text, text, dict.fromkeys(names, pa.float64()))


def _pyarrow_csv(path: Path, part: str, text: str, types: dict[str, Any]) -> Any:
    pa = require("pyarrow", "pyarrow", "Reading CSV")
    csv = require("pyarrow.csv", "pyarrow", "Reading CSV")
    try:
        return csv.read_csv(
            pa.BufferReader(part.encode()),
            # pyarrow reports the row of an error only with a single thread.
            read_options=csv.ReadOptions(use_threads=False, block_size=2**30),
            convert_options=csv.ConvertOptions(column_types=types),
        )
    except pa.ArrowException as error:
        raise _csv_error(path, text, str(error)) from error


def _csv_error(path: Path, text: str, problem: str) -> ValueError:
    """pyarrow's message with a line number; it counts the rows that are not empty."""
    row = re.search(r"Row #(\d+): ", problem)
    if row is None:
        return file_error(path, f"{problem[:200]}.")
    line = nth_line(text, int(row[1]) - 1)
    return file_error(path, f"{problem[row.end() :][:200]}.", line=line)


def read_parquet(
    path: Path | str, labels: Labels, *, max_bytes: int = MAX_BYTES
) -> Dataset:
    """Read a Parquet file; `labels` as for `read_csv`."""
    path = Path(path)
    pa = require("pyarrow", "pyarrow", "Reading Parquet")
    parquet = require("pyarrow.parquet", "pyarrow", "Reading Parquet")
    try:
        with parquet.ParquetFile(path) as file:
            _check_parquet(path, file, max_bytes)
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise file_error(path, f"not a complete Parquet file ({error}).") from error
    columns = label_columns(path, table.schema.names, labels)
    if not table.num_rows:
        raise file_error(path, "no rows.")
    return _dataset(path, table, columns, lambda row: row + 1)


def _check_parquet(path: Path, file: Any, max_bytes: int) -> None:
    """Check the declared size before reading any column."""
    meta = file.metadata
    declared = sum(
        meta.row_group(i).total_byte_size for i in range(meta.num_row_groups)
    )
    size = max(declared, meta.num_rows * meta.num_columns * 8)
    if size > max_bytes:
        raise too_large_error(path, size, max_bytes)


def _dataset(path: Path, table: Any, columns: list[int], line: Any) -> Dataset:
    names = [str(name) for name in table.schema.names]
    labels = set(columns)
    others = [column for column in range(len(names)) if column not in labels]
    return Dataset(
        X=inputs(path, _values(path, table, others), line),
        Y=outputs(path, _values(path, table, columns), line),
        name=file_name(path),
        feature_names=tuple(names[column] for column in others),
        label_names=tuple(names[column] for column in columns),
    )


def _values(path: Path, table: Any, columns: list[int]) -> Array:
    """The columns as float64, with NaN for nulls."""
    values = np.empty((table.num_rows, len(columns)), dtype=np.float64)
    for i, column in enumerate(columns):
        values[:, i] = _column(path, table, column)
    return values


def _column(path: Path, table: Any, column: int) -> Array:
    pa = require("pyarrow", "pyarrow", "Reading tables")
    kind = table.schema.field(column).type
    if not (
        pa.types.is_floating(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
    ):
        name = table.schema.names[column]
        problem = f"column `{name}` has type {kind}, not numbers. Encode it."
        raise file_error(path, problem)
    values = table.column(column).cast(pa.float64(), safe=False).to_numpy()
    return np.asarray(values, dtype=np.float64)
