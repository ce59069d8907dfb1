"""Read Parquet files with pyarrow, in memory that is bounded by their size.

A few kilobytes of Parquet can stand for millions of equal values. The sizes in the
footer are checked before columns are read, and the lengths of repeated texts before
these are written out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crbm.datasets.formats._common import require, too_large_error
from crbm.datasets.formats.arrow_table import (
    arrow_errors,
    check_texts,
    to_table,
    unpacked_limit,
)
from crbm.preprocessing import Table

NUMBER_BYTES = 8  # of a number, or the place of a text, in a table
# Reading takes at most this multiple of the unpacked size.
MEMORY_RATIO = 6
_ROWS_AT_ONCE = 1024


def read_parquet(path: Path, *, max_bytes: int | None = None) -> Table:
    """Read a Parquet file, without the index of a pandas frame."""
    parquet = require("pyarrow.parquet", "pyarrow", "Reading Parquet")
    allowed = unpacked_limit(path, max_bytes)
    with arrow_errors(path, "Parquet"):
        with parquet.ParquetFile(path) as file:
            _check_footer(path, file, allowed)
            meta, schema = file.metadata, file.schema_arrow
            repeated = _texts(file, "DICTIONARY")
            sharing = _texts(file, "DELTA_BYTE_ARRAY")  # beginnings with others
        options = {"metadata": meta, "read_dictionary": repeated}
        with parquet.ParquetFile(path, **options) as file:
            table = _in_batches(path, file, allowed) if sharing else file.read()
        check_texts(path, table, allowed)
        return to_table(path, table.cast(schema))


def check_file(path: Path, max_bytes: int | None = None) -> None:
    """Check the sizes that a file declares, which may be larger than memory."""
    parquet = require("pyarrow.parquet", "pyarrow", "Reading Parquet")
    allowed = unpacked_limit(path, max_bytes, at_most=None)
    with arrow_errors(path, "Parquet"), parquet.ParquetFile(path) as file:
        _check_footer(path, file, allowed)


def _check_footer(path: Path, file: Any, allowed: int) -> None:
    """Check the sizes in the footer of a `ParquetFile` before columns are read."""
    meta, encoded, decoded = file.metadata, 0, 0
    columns = [file.schema.column(place) for place in range(meta.num_columns)]
    widths = [max(NUMBER_BYTES, column.length or 0) for column in columns]
    lists = [i for i, c in enumerate(columns) if c.max_repetition_level > 0]
    for number in range(meta.num_row_groups):
        group = meta.row_group(number)
        encoded += group.total_byte_size
        decoded += group.num_rows * sum(widths)
        decoded += sum(widths[i] * group.column(i).num_values for i in lists)
    size = max(encoded, decoded)
    if size > allowed:
        raise too_large_error(path, size, allowed)


def _texts(file: Any, encoding: str) -> list[str]:
    """The columns of texts of which a part is encoded in this way."""
    meta, found = file.metadata, []
    for place in range(meta.num_columns):
        column = file.schema.column(place)
        if column.physical_type == "BYTE_ARRAY" and any(
            encoding in name
            for group in range(meta.num_row_groups)
            for name in meta.row_group(group).column(place).encodings
        ):
            found.append(column.path)
    return found


def _in_batches(path: Path, file: Any, allowed: int) -> Any:
    """The table, read until it is larger than allowed."""
    pa = require("pyarrow", "pyarrow", "Reading Parquet")
    batches, size = [], 0
    for batch in file.iter_batches(_ROWS_AT_ONCE):
        batches.append(batch)
        plain = [c for c in batch.columns if not pa.types.is_dictionary(c.type)]
        size += sum(column.nbytes for column in plain)
        if size > allowed:
            raise too_large_error(path, f"more than {allowed}", allowed)
    return pa.Table.from_batches(batches, file.schema_arrow)
