"""Rows in files that are larger than memory, read a piece at a time."""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

# Rows that are read at once, and of an array in each part.
PIECE, PART = 8192, 65_536
# Parts that a sample is taken from.
SAMPLE_PARTS = 64


class StoredRows(ABC):
    """A matrix in files, cut into parts that can be read in any order.

    Inputs and labels go together if they have the same rows in the same parts.

    Parameters
    ----------
    part_sizes
        The number of rows of each part.
    n_columns
        The number of columns.
    names
        The names of the columns, if they have any.
    """

    def __init__(
        self,
        part_sizes: Sequence[int],
        n_columns: int,
        names: Sequence[str] | None = None,
    ) -> None:
        self.part_sizes, self.names = tuple(part_sizes), names
        self.shape = (sum(part_sizes), n_columns)

    @abstractmethod
    def pieces(self, part: int, n_rows: int = PIECE) -> Iterator[np.ndarray]:
        """The rows of a part in order, `n_rows` at a time; float64 or float32."""

    @property
    def starts(self) -> tuple[int, ...]:
        """The place of the first row of each part."""
        return (0, *accumulate(self.part_sizes))[:-1]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        n_rows, n_columns = self.shape
        n_parts = len(self.part_sizes)
        return f"{type(self).__name__}({n_rows} x {n_columns} in {n_parts} parts)"

    def all_pieces(self, n_rows: int = PIECE) -> Iterator[np.ndarray]:
        """All rows in order, at most `n_rows` at a time."""
        for part in range(len(self.part_sizes)):
            yield from self.pieces(part, n_rows)

    def sample_places(self, n_rows: int) -> dict[int, np.ndarray]:
        """Places in some parts of about `n_rows` rows, all evenly spaced."""
        n_parts = len(self.part_sizes)
        parts = range(0, n_parts, -(-n_parts // SAMPLE_PARTS))
        step = max(1, -(-sum(self.part_sizes[part] for part in parts) // n_rows))
        chosen, n_before = {}, 0
        for part in parts:
            chosen[part] = np.arange(-n_before % step, self.part_sizes[part], step)
            n_before += self.part_sizes[part]
        return chosen

    def sample(self, n_rows: int) -> np.ndarray:
        """The rows at `sample_places`."""
        found = []
        for part, places in self.sample_places(n_rows).items():
            start = 0
            for piece in self.pieces(part):
                own = places[(places >= start) & (places < start + len(piece))]
                found.append(piece[own - start])
                start += len(piece)
        return np.concatenate(found)


class ArrayRows(StoredRows):
    """The rows of an array, in memory or mapped from a file.

    Examples
    --------
    >>> rows = ArrayRows(np.arange(6).reshape(3, 2))
    >>> rows, [piece.tolist() for piece in rows.pieces(0, n_rows=2)]
    (ArrayRows(3 x 2 in 1 parts), [[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0]]])
    """

    def __init__(self, values: np.ndarray) -> None:
        if values.ndim != 2 or not len(values):
            raise ValueError(
                "Stored rows must be a matrix with one row per case; got shape "
                f"{values.shape}. Reshape a single column with reshape(-1, 1)."
            )
        if values.dtype.kind not in "biuf":
            raise TypeError(
                f"Stored rows must hold numbers; got dtype {values.dtype}. Encode "
                "them first."
            )
        starts = range(0, len(values), PART)
        sizes = [min(PART, len(values) - start) for start in starts]
        super().__init__(sizes, values.shape[1])
        self.values = values

    def pieces(self, part: int, n_rows: int = PIECE) -> Iterator[np.ndarray]:
        first = part * PART
        dtype = np.float64 if self.values.dtype == np.float64 else np.float32
        rows = self.values[first : first + self.part_sizes[part]]
        for start in range(0, len(rows), n_rows):
            yield np.array(rows[start : start + n_rows], dtype=dtype)
            forget_pages(self.values)


def check_alike(X: StoredRows, Y: StoredRows) -> None:
    """Require inputs and labels with the same rows in the same parts."""
    if X.part_sizes != Y.part_sizes:
        raise ValueError(
            "Inputs and labels must have the same rows in the same parts; `X` has "
            f"{len(X)} rows in {len(X.part_sizes)} parts and `y` has {len(Y)} in "
            f"{len(Y.part_sizes)}. Take both from one folder with "
            "`crbm.datasets.open_table`, or both from arrays."
        )


def forget_pages(X: Any) -> None:
    """Release the pages read so far of a file that an array maps.

    Otherwise the whole file would count as this process's memory. A map with changes of
    its own (mode "c") is left alone.
    """
    advice = getattr(mmap, "MADV_DONTNEED", None)
    while isinstance(X, np.ndarray) and getattr(X, "mode", None) != "c":
        X = X.base
    if isinstance(X, mmap.mmap) and advice is not None:
        X.madvise(advice)
