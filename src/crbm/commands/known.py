"""Read labels that are known before prediction from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crbm.datasets.files import TABLES, format_of
from crbm.datasets.formats.npz import read_arrays
from crbm.datasets.formats.table import read_table
from crbm.preprocessing import ClassColumns
from crbm.preprocessing.conversion import to_labels


def read_known(
    path: Path,
    names: Sequence[str],
    n_cases: int,
    columns: ClassColumns | None = None,
) -> np.ndarray:
    """Read a matrix that holds 0 or 1 for known labels and NaN for unknown ones.

    A table has one column per label, or per column of classes, with empty cells for
    unknown values; columns may be missing. An NPZ file holds the matrix under the name
    `known`.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no file `{path}` for --known.")
    known = (
        _read_array(path)
        if format_of(path) == "npz"
        else _read_columns(path, names, columns)
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


def _read_columns(
    path: Path, names: Sequence[str], columns: ClassColumns | None
) -> np.ndarray:
    kind = format_of(path)
    if kind not in TABLES:
        raise ValueError(f"Known labels are read from a table or NPZ file; got {kind}.")
    table = read_table(path, kind)
    if columns is not None and any(name in table.columns for name in columns.names):
        return columns.encode_table(table).numpy()
    present = [name for name in names if name in table.columns]
    if not present:
        raise ValueError(
            f"`{path}` has no column that is a label of the model, such as "
            f"`{names[0]}`; its columns are {table.names[:5]}."
        )
    known = np.full((len(table), len(names)), np.nan)
    for place, name in enumerate(names):
        if name in present:
            known[:, place] = to_labels(table, name)
    return known
