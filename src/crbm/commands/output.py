"""Check output paths before the work starts, and write tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

TABLE_ENDINGS = (".csv", ".parquet", ".npz")


class Column(NamedTuple):
    """A named column of a table."""

    name: str
    values: np.ndarray


def check_output_path(path: Path, *, force: bool, endings: Sequence[str]) -> None:
    """Raise unless the path has a known ending and may be written."""
    if path.suffix not in endings:
        known = ", ".join(f"`{ending}`" for ending in endings)
        raise ValueError(f"`{path}` must end in one of {known}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"The folder `{path.parent}` for `{path.name}` does not exist. Create it."
        )
    if path.exists() and not force:
        raise FileExistsError(f"`{path}` exists. Choose another name, or add --force.")


def write_table(
    path: Path, columns: Sequence[Column], arrays: dict[str, np.ndarray]
) -> None:
    """Write the columns as CSV or Parquet, or the arrays as NPZ."""
    if path.suffix == ".npz":
        with path.open("wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)
    elif path.suffix == ".parquet":
        _write_parquet(path, columns)
    else:
        with path.open("w", encoding="utf-8", newline="") as stream:
            write_csv(stream, columns)


def write_csv(stream: TextIO, columns: Iterable[Column]) -> None:
    """Write columns with a header, and floats with six significant digits."""
    names, values = zip(*columns, strict=True)
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    for row in zip(*(column.tolist() for column in values), strict=True):
        writer.writerow([_short(value) for value in row])


def _write_parquet(path: Path, columns: Sequence[Column]) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            "Writing Parquet needs `pyarrow`. Install it with `pip install crbm[data]`."
        ) from error
    arrays = [pa.array(column.values) for column in columns]
    table = pa.Table.from_arrays(arrays, names=[column.name for column in columns])
    parquet.write_table(table, str(path))


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value
