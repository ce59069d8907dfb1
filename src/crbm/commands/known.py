"""Read labels that are known before prediction from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crbm.datasets.files import format_of
from crbm.datasets.formats._common import require
from crbm.datasets.formats.npz import read_arrays


def read_known(path: Path, names: Sequence[str], n_cases: int) -> np.ndarray:
    """Read a matrix that holds 0 or 1 for known labels and NaN for unknown ones.

    A CSV or Parquet file has one column per label, with empty cells for unknown values;
    columns may be missing. An NPZ file holds the matrix under the name `known`.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no file `{path}` for --known.")
    known = (
        _read_array(path) if format_of(path) == "npz" else _read_columns(path, names)
    )
    if known.shape != (n_cases, len(names)):
        raise ValueError(
            f"`{path}` must have {n_cases} rows, one per case, and up to {len(names)} "
            f"labels; its known labels have shape {known.shape}."
        )
    return known


def _read_array(path: Path) -> np.ndarray:
    arrays = read_arrays(path)
    if "known" not in arrays:
        raise ValueError(f"`{path}` has no array `known`; it has {sorted(arrays)}.")
    return arrays["known"].astype(np.float64)


def _read_columns(path: Path, names: Sequence[str]) -> np.ndarray:
    table = _read_table(path)
    present = [name for name in names if name in table.column_names]
    if not present:
        raise ValueError(
            f"`{path}` has no column that is a label of the model, such as "
            f"`{names[0]}`; its columns are {table.column_names[:5]}."
        )
    known = np.full((table.num_rows, len(names)), np.nan)
    for place, name in enumerate(names):
        if name in present:
            known[:, place] = _to_numbers(path, name, table[name])
    return known


def _read_table(path: Path) -> Any:
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


def _to_numbers(path: Path, name: str, column: Any) -> np.ndarray:
    pa = require("pyarrow", "pyarrow", "Reading tables")
    try:
        values = column.cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        raise ValueError(
            f"`{path}`: label `{name}` must be 0, 1 or empty; got {column.type}."
        ) from error
    return np.asarray(values, dtype=np.float64)
