"""Open folders of Parquet or Arrow files, and arrays, that are larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from crbm.datasets.formats import parquet_table
from crbm.datasets.formats._common import file_error, require
from crbm.datasets.formats.arrow_table import arrow_errors
from crbm.messages import one_line
from crbm.paths import require_file
from crbm.preprocessing.stored import PIECE, ArrayRows, StoredRows

ENDINGS = {".parquet": "parquet", ".pq": "parquet"} | dict.fromkeys(
    (".arrow", ".feather", ".ipc"), "ipc"
)


class ColumnRows(StoredRows):
    """Columns of numbers of a `pyarrow.dataset.Dataset`; a part is a row group.

    Nulls are NaN, booleans 0 and 1. A column of lists of one length counts as that
    many columns.
    """

    def __init__(self, dataset: Any, columns: Sequence[str]) -> None:
        self.schema, self.columns = dataset.schema, list(columns)
        self.fragments: list[Any] = []
        for fragment in dataset.get_fragments():
            with arrow_errors(fragment.path):
                self.fragments += _row_groups(fragment)
        names = [name for column in columns for name in self._names_of(column)]
        sizes = [_n_rows(fragment) for fragment in self.fragments]
        super().__init__(sizes, len(names), names)

    def pieces(self, part: int, n_rows: int = PIECE) -> Iterator[np.ndarray]:
        waiting: list[np.ndarray] = []
        n_waiting, left = 0, self.part_sizes[part]
        for batch in self._batches(part, n_rows):
            rows = self._matrix(batch)
            left -= len(rows)
            while n_waiting + len(rows) >= n_rows:
                own, rows = np.split(rows, [n_rows - n_waiting])
                yield np.concatenate([*waiting, own])
                waiting, n_waiting = [], 0
            if len(rows):
                waiting.append(rows)
                n_waiting += len(rows)
        if waiting:
            yield np.concatenate(waiting)
        if left:
            problem = f"{abs(left)} rows {'less' if left > 0 else 'more'} than declared"
            raise file_error(self.fragments[part].path, f"damaged ({problem}).")

    def _batches(self, part: int, n_rows: int) -> Iterator[Any]:
        """Batches of a row group, decoded as they are needed."""
        arrow = require("pyarrow.dataset", "pyarrow", "Reading tables")
        fragment, options = self.fragments[part], {}
        if hasattr(fragment, "row_groups"):
            scan = arrow.ParquetFragmentScanOptions(
                pre_buffer=False, use_buffered_stream=True
            )
            options["fragment_scan_options"] = scan
        with arrow_errors(fragment.path):
            yield from fragment.to_batches(
                schema=self.schema,
                columns=self.columns,
                batch_size=n_rows,
                use_threads=False,
                batch_readahead=0,
                fragment_readahead=0,
                **options,
            )

    def _matrix(self, batch: Any) -> np.ndarray:
        values = [self._values(column) for column in batch.columns]
        if len(values) == 1:
            return np.ascontiguousarray(values[0].T, dtype=np.float32)
        return np.ascontiguousarray(np.concatenate(values, dtype=np.float32).T)

    def _values(self, column: Any) -> np.ndarray:
        """One column of a table as columns of numbers, one per row of the result."""
        pa = require("pyarrow", "pyarrow", "Reading tables")
        if pa.types.is_fixed_size_list(column.type):
            if column.null_count:
                raise ValueError("A list of numbers is missing in a row; fill it in.")
            flat = column.flatten().to_numpy(zero_copy_only=False)
            return flat.reshape(-1, column.type.list_size).T
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        return column.to_numpy(zero_copy_only=False)[None]

    def _names_of(self, column: str) -> list[str]:
        """The names of a column's numbers; raises if it does not hold any."""
        pa = require("pyarrow", "pyarrow", "Reading tables")
        if column not in self.schema.names:
            names = one_line(", ".join(self.schema.names), 200)
            raise ValueError(
                f"The tables have no column `{column}`; they have {names}."
            )
        kind = self.schema.field(column).type
        if _is_number(pa, kind):
            return [column]
        if pa.types.is_fixed_size_list(kind) and _is_number(pa, kind.value_type):
            return [f"{column}_{place}" for place in range(kind.list_size)]
        raise ValueError(
            one_line(
                f"Tables larger than memory must hold numbers; column `{column}` holds "
                f"{kind}. Encode it, or leave it out with --drop (`drop=`)."
            )
        )


def open_rows(
    source: Any,
    columns: Sequence[str] | None = None,
    *,
    max_bytes: int | None = None,
) -> StoredRows:
    """A matrix to read a piece at a time, for `fit(X, Y)` and `predict_batches(X)`.

    Parameters
    ----------
    source
        A memory map or other array, an .npy file, a `pyarrow.dataset.Dataset`, or
        Parquet or Arrow files: a file, a folder or a list of files.
    columns
        The columns of a table to read; all of them by default.
    max_bytes
        Most bytes that the values of each Parquet file may take. By default it follows
        from the size of the file, so that no small file stands for endless rows.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "X.npy")
    >>> np.save(path, np.eye(3))
    >>> open_rows(path).shape
    (3, 3)
    """
    if isinstance(source, np.ndarray):
        return ArrayRows(source)
    if isinstance(source, str | Path) and Path(source).suffix == ".npy":
        return ArrayRows(_map_array(Path(source)))
    dataset = _dataset(source, max_bytes)
    return ColumnRows(dataset, dataset.schema.names if columns is None else columns)


def open_table(
    source: Any,
    labels: Sequence[str],
    drop: Sequence[str] = (),
    *,
    max_bytes: int | None = None,
) -> tuple[StoredRows, StoredRows]:
    """Inputs and labels of Parquet or Arrow files that are larger than memory.

    Parameters
    ----------
    source
        A file, a folder, a list of files or a `pyarrow.dataset.Dataset`.
    labels
        The columns of labels, 0 and 1, or null where unknown.
    drop
        Columns that are neither inputs nor labels.
    max_bytes
        As in `open_rows`.
    """
    dataset = _dataset(source, max_bytes)
    taken = {*labels, *drop}
    inputs = [name for name in dataset.schema.names if name not in taken]
    return ColumnRows(dataset, inputs), ColumnRows(dataset, labels)


def is_table_folder(path: Path) -> bool:
    """Whether a path is a folder with Parquet or Arrow files."""
    return path.is_dir() and bool(table_files(path))


def table_files(folder: Path) -> list[Path]:
    """The Parquet or Arrow files of a folder, by name."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS)
    return sorted(path for path in found if path.is_file())


def _map_array(path: Path) -> np.ndarray:
    require_file(path)
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except (ValueError, OSError, SyntaxError, TokenError, MemoryError) as error:
        raise file_error(path, f"not a complete .npy file ({error}).") from error


def _dataset(source: Any, max_bytes: int | None) -> Any:
    arrow = require("pyarrow.dataset", "pyarrow", "Reading tables")
    if isinstance(source, arrow.Dataset):
        return source
    if isinstance(source, str | Path):
        path = Path(source)
        files = table_files(path) if path.is_dir() else [path]
    else:
        files = [Path(file) for file in source]
    kinds = {ENDINGS.get(file.suffix.lower()) for file in files}
    if len(kinds) != 1 or None in kinds:
        raise ValueError(
            f"`{source}` must hold Parquet files or Arrow files, of one kind; give a "
            "file, a folder or a list of files that end in .parquet or .arrow."
        )
    (kind,) = kinds
    for file in files:
        require_file(file, "table")
        if kind == "parquet":
            parquet_table.check_file(file, max_bytes)
    with arrow_errors(files[0]):  # the columns are those of the first
        return arrow.dataset([str(file) for file in files], format=kind)


def _row_groups(fragment: Any) -> list[Any]:
    if hasattr(fragment, "split_by_row_group"):
        return list(fragment.split_by_row_group())
    return [fragment]


def _n_rows(fragment: Any) -> int:
    # `count_rows` counts the whole file, also of a fragment of one row group
    groups = getattr(fragment, "row_groups", None)
    if groups is None:
        with arrow_errors(fragment.path):
            return int(fragment.count_rows())
    return sum(group.num_rows for group in groups)


def _is_number(pa: Any, kind: Any) -> bool:
    types = pa.types
    return any(
        is_kind(kind)
        for is_kind in (types.is_integer, types.is_floating, types.is_boolean)
    )
