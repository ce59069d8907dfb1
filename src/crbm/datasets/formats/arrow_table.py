"""Read Parquet and Arrow (Feather) files with pyarrow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crbm.datasets.formats._columns import check_unique
from crbm.datasets.formats._common import (
    file_error,
    require,
    size_limit,
    too_large_error,
)
from crbm.datasets.formats.naming import finish
from crbm.preprocessing import Table


def read_parquet(path: Path, *, max_bytes: int | None = None) -> Table:
    """Read a Parquet file, without the index of a pandas frame."""
    parquet = require("pyarrow.parquet", "pyarrow", "Reading Parquet")

    allowed = size_limit(path, max_bytes, packed=False)

    def read() -> Any:
        with parquet.ParquetFile(path) as file:
            _check_parquet(path, file, allowed)
            return file.read()

    return _to_table(path, _read(path, read, "Parquet"))


def read_arrow(path: Path, *, max_bytes: int | None = None) -> Table:
    """Read an Arrow or Feather file, without the index of a pandas frame."""
    pa = require("pyarrow", "pyarrow", "Reading Arrow")
    ipc = require("pyarrow.ipc", "pyarrow", "Reading Arrow")

    allowed = size_limit(path, max_bytes, packed=False)

    def read() -> Any:
        batches, size = [], 0
        with pa.memory_map(str(path)) as source, ipc.open_file(source) as file:
            for number in range(file.num_record_batches):
                batches.append(file.get_batch(number))
                size += batches[-1].nbytes
                if size > allowed:
                    raise too_large_error(path, f"more than {allowed}", allowed)
            table = pa.Table.from_batches(batches, file.schema)
            table.validate(full=True)  # offsets may point outside of the file
            return table

    return _to_table(path, _read(path, read, "Arrow"))


def _read(path: Path, read: Callable[[], Any], what: str) -> Any:
    pa = require("pyarrow", "pyarrow", f"Reading {what}")
    try:
        return read()
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise file_error(path, f"not a complete {what} file ({error}).") from error


def _check_parquet(path: Path, file: Any, max_bytes: int) -> None:
    """Check the sizes in the footer before the columns are read."""
    meta = file.metadata
    declared = sum(
        meta.row_group(i).total_byte_size for i in range(meta.num_row_groups)
    )
    size = max(declared, meta.num_rows * meta.num_columns * 8)
    if size > max_bytes:
        raise too_large_error(path, size, max_bytes)


def _to_table(path: Path, frame: Any) -> Table:
    names = [str(name) for name in frame.schema.names]
    check_unique(path, names, "column")
    index = [name for name in _pandas_index(frame.schema.metadata) if name in names]
    if len(index) < len(names):
        frame = frame.drop_columns(index)
    if not frame.num_rows:
        raise file_error(path, "no rows.")
    notes = tuple(
        f"`{name}` is the index of a pandas frame: left out" for name in index
    )
    where = f"`{path}`, row "
    return finish(
        Table.from_frame(_without_dictionaries(frame)),
        [str(name) for name in frame.schema.names],
        lambda row: f"{where}{row + 1}",
        notes,
    )


def _without_dictionaries(frame: Any) -> Any:
    """Columns of categories of anything but strings as what they are made of.

    Writers compress repeated numbers in this way, too.
    """
    pa = require("pyarrow", "pyarrow", "Reading tables")
    for place, field in enumerate(frame.schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and not _is_text(pa, kind.value_type):
            plain = frame.column(place).cast(kind.value_type)
            frame = frame.set_column(place, field.name, plain)
    return frame


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _pandas_index(metadata: dict[bytes, bytes] | None) -> list[str]:
    """The columns that pandas wrote for the index of its frame."""
    try:
        described = json.loads((metadata or {}).get(b"pandas", b"{}"))
        index = described.get("index_columns", [])
    except (ValueError, AttributeError):
        return []
    return [name for name in index if isinstance(name, str)]
