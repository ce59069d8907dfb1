"""Distinct rows of 0 and 1, compared by their packed bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int64, Shaped, UInt8

from crbm import checks
from crbm.hashing.arrays import Matrix

# Elements of a sparse V that are converted to dense at a time.
BLOCK = 2**22


class PackedRows(NamedTuple):
    """Rows of an output matrix as bytes, in the same sort order as the rows.

    Parameters
    ----------
    keys
        One opaque value of `n_labels / 8` bytes per row.
    complete
        False where a label of the row is unknown; its key is then meaningless.
    n_labels
        Number of columns of the matrix.
    """

    keys: Shaped[np.ndarray, " cases"]
    complete: Bool[np.ndarray, " cases"]
    n_labels: int

    @property
    def packed(self) -> UInt8[np.ndarray, "cases bytes"]:
        """The rows as bytes."""
        return as_bytes(self.keys)


def pack_rows(values: Matrix, *, name: str = "V") -> PackedRows:
    """The rows as keys. Raises for values other than 0, 1 and NaN.

    Examples
    --------
    >>> rows = pack_rows(np.array([[1, 0], [0, 1], [1, 0]]))
    >>> bool(rows.keys[0] == rows.keys[2]), bool(rows.keys[0] == rows.keys[1])
    (True, False)
    """
    n_cases, n_labels = values.shape
    if n_cases == 0 or n_labels == 0:
        raise ValueError(
            f"`{name}` must have at least one row and one column; got shape "
            f"{(n_cases, n_labels)}."
        )
    packed, complete = [], []
    step = max(1, BLOCK // n_labels)
    for start in range(0, n_cases, step):
        block = _dense(values[start : start + step])
        _check_binary(name, block, start)
        packed.append(np.packbits(block == 1, axis=1))
        complete.append(~np.isnan(block).any(1))
    return PackedRows(_keys(np.concatenate(packed)), np.concatenate(complete), n_labels)


def distinct(
    rows: PackedRows,
) -> tuple[UInt8[np.ndarray, "outputs bytes"], Int64[np.ndarray, " known"]]:
    """The distinct complete rows in lexicographic order, packed, and each row's index.

    Examples
    --------
    >>> packed, ids = distinct(pack_rows(np.array([[1, 0], [0, 1], [1, 0]])))
    >>> np.unpackbits(packed, axis=1, count=2).tolist(), ids.tolist()
    ([[0, 1], [1, 0]], [1, 0, 1])
    """
    keys, ids = np.unique(rows.keys[rows.complete], return_inverse=True)
    return as_bytes(keys), ids


def as_bytes(
    keys: Shaped[np.ndarray, " cases"],
) -> UInt8[np.ndarray, "cases bytes"]:
    """The bytes of each key."""
    return keys.view(np.uint8).reshape(len(keys), keys.dtype.itemsize)


def _keys(packed: UInt8[np.ndarray, "cases bytes"]) -> Shaped[np.ndarray, " cases"]:
    row_type = np.dtype((np.void, packed.shape[1]))
    return np.ascontiguousarray(packed).view(row_type)[:, 0]


def _check_binary(name: str, block: np.ndarray, first_row: int) -> None:
    """Require 0, 1 or NaN; `first_row` is the number of the block's first row."""
    place = checks.first_not_binary(block, missing=True)
    if place is not None:
        row, column = place
        raise ValueError(
            f"`{name}` must hold 0, 1 or NaN (unknown); row {first_row + row}, column "
            f"{column} holds {block[place]}. Binarise it first, e.g. with "
            "MultiLabelBinarizer."
        )


def _dense(block: Matrix) -> np.ndarray:
    return block if isinstance(block, np.ndarray) else block.toarray()
