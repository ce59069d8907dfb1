"""Read Arrow (Feather) files with pyarrow, and turn Arrow tables into `Table`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from crbm.datasets.formats._columns import check_unique
from crbm.datasets.formats._common import (
    MAX_BYTES,
    file_error,
    require,
    too_large_error,
)
from crbm.datasets.formats.naming import finish
from crbm.paths import require_file
from crbm.preprocessing import Table
from crbm.preprocessing.table import pandas_index

# A file may unpack to this size, and to this multiple of its own more.
UNPACKED_FREE, UNPACKED_RATIO = 256 * 2**20, 1024
TEXT_BYTES = 64  # of a text in Python beside its characters


def read_arrow(path: Path, *, max_bytes: int | None = None) -> Table:
    """Read an Arrow or Feather file, without the index of a pandas frame."""
    pa = require("pyarrow", "pyarrow", "Reading Arrow")
    ipc = require("pyarrow.ipc", "pyarrow", "Reading Arrow")
    allowed = unpacked_limit(path, max_bytes)
    batches, size = [], 0
    with (
        arrow_errors(path, "Arrow"),
        pa.memory_map(str(path)) as source,
        ipc.open_file(source) as file,
    ):
        for number in range(file.num_record_batches):
            batches.append(file.get_batch(number))
            size += batches[-1].nbytes
            if size > allowed:
                raise too_large_error(path, f"more than {allowed}", allowed)
        table = pa.Table.from_batches(batches, file.schema)
        table.validate(full=True)  # offsets may point outside of the file
        check_texts(path, table, allowed)
        return to_table(path, table)


def unpacked_limit(
    path: Path, max_bytes: int | None, at_most: int | None = MAX_BYTES
) -> int:
    """Most bytes that a file may unpack to: `max_bytes`, if it is given."""
    size = require_file(path).stat().st_size
    if max_bytes is not None:
        return max_bytes
    allowed = UNPACKED_FREE + UNPACKED_RATIO * size
    return allowed if at_most is None else min(allowed, at_most)


@contextmanager
def arrow_errors(path: Path | str, what: str = "table") -> Iterator[None]:
    """Turn errors of pyarrow into one line with the name of the file."""
    pa = require("pyarrow", "pyarrow", "Reading tables")
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise file_error(path, f"not a complete {what} file ({error}).") from error


def check_texts(path: Path, table: Any, allowed: int) -> None:
    """Refuse texts that are too long in total when each row has its own."""
    size = sum(
        _text_bytes(chunk) for column in table.columns for chunk in column.chunks
    )
    if size > allowed:
        raise too_large_error(path, size, allowed)


def _text_bytes(values: Any) -> int:
    """Bytes of texts as objects of Python; 0 for other values."""
    pa = require("pyarrow", "pyarrow", "Reading tables")
    kind = values.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _text_bytes(values.flatten())
    if _is_text(pa, kind):
        return int(values.nbytes) + TEXT_BYTES * len(values)
    if not pa.types.is_dictionary(kind):
        return 0
    kind = kind.value_type
    if not (_is_text(pa, kind) or pa.types.is_binary(kind)):
        return 0
    counts = np.bincount(
        values.indices.drop_null().to_numpy(), minlength=len(values.dictionary)
    )
    compute = require("pyarrow.compute", "pyarrow", "Reading tables")
    lengths = compute.binary_length(values.dictionary).fill_null(0).to_numpy()
    return int(counts @ lengths.astype(np.float64)) + TEXT_BYTES * len(values)


def to_table(path: Path, frame: Any) -> Table:
    """An Arrow table without the index of a pandas frame."""
    names = [str(name) for name in frame.schema.names]
    check_unique(path, names, "column")
    index = [name for name in pandas_index(frame.schema.metadata) if name in names]
    if len(index) < len(names):
        frame = frame.drop_columns(index)
    if not frame.num_rows:
        raise file_error(path, "no rows.")
    notes = [f"`{name}` is the index of a pandas frame: left out" for name in index]
    frame, odd = _plain_columns(frame)
    check_unique(path, frame.schema.names, "column")
    notes += [f"`{name}` holds {kind} values: left out" for name, kind in odd.items()]
    where = f"`{path}`, row "
    return finish(
        Table.from_frame(_without_dictionaries(frame)),
        [str(name) for name in frame.schema.names],
        lambda row: f"{where}{row + 1}",
        tuple(notes),
    )


def _plain_columns(frame: Any) -> tuple[Any, dict[str, str]]:
    """The frame with the fields of structs as columns, and without bytes and maps.

    The type of each column that is left out is given by its name.
    """
    pa = require("pyarrow", "pyarrow", "Reading tables")
    while any(pa.types.is_struct(field.type) for field in frame.schema):
        frame = frame.flatten()
    odd = {f.name: str(f.type) for f in frame.schema if _is_odd(pa, f.type)}
    return frame.drop_columns(list(odd)) if odd else frame, odd


def _is_odd(pa: Any, kind: Any) -> bool:
    tests = (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_map,
        pa.types.is_union,
    )
    return any(test(kind) for test in tests)


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
