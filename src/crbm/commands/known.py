"""Labels that are known beforehand, read from a file with gaps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crbm.datasets.formats._files import require
from crbm.datasets.formats.npz import read_arrays
from crbm.datasets.reading import format_of


def read_known(path: Path, names: Sequence[str], n_cases: int) -> np.ndarray:
    """A matrix with 0 or 1 where a label is known and NaN where it is not.

    A CSV or Parquet file has a column for each label that may be known, empty where it
    is not; an NPZ file has the matrix itself, `known`.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no file `{path}` of known labels.")
    known = _array(path) if format_of(path) == "npz" else _table(path, names)
    if known.shape != (n_cases, len(names)):
        raise ValueError(
            f"`{path}` must have {n_cases} rows, one per case, and up to {len(names)} "
            f"labels; its known labels have shape {known.shape}."
        )
    return known


def _array(path: Path) -> np.ndarray:
    arrays = read_arrays(path)
    if "known" not in arrays:
        raise ValueError(f"`{path}` has no array `known`; it has {sorted(arrays)}.")
    return arrays["known"].astype(np.float64)


def _table(path: Path, names: Sequence[str]) -> np.ndarray:
    table = _read(path)
    present = [name for name in names if name in table.column_names]
    if not present:
        raise ValueError(
            f"`{path}` has no column that is a label of the model, such as "
            f"`{names[0]}`; it has {table.column_names[:5]}."
        )
    known = np.full((table.num_rows, len(names)), np.nan)
    for place, name in enumerate(names):
        if name in present:
            known[:, place] = _numbers(path, name, table[name])
    return known


def _read(path: Path) -> Any:
    pa = require("pyarrow", "pyarrow", "Reading tables")
    kind = format_of(path)
    if kind not in ("csv", "parquet"):
        raise ValueError(f"Known labels are read from CSV, Parquet or NPZ; got {kind}.")
    try:
        if kind == "csv":
            return require("pyarrow.csv", "pyarrow", "Reading CSV").read_csv(path)
        return require("pyarrow.parquet", "pyarrow", "Reading").read_table(path)
    except pa.ArrowException as error:
        raise ValueError(f"`{path}` is damaged: {error}") from error


def _numbers(path: Path, name: str, column: Any) -> np.ndarray:
    pa = require("pyarrow", "pyarrow", "Reading tables")
    try:
        values = column.cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        raise ValueError(
            f"`{path}`: label `{name}` must be 0, 1 or empty; got {column.type}."
        ) from error
    return np.asarray(values, dtype=np.float64)
