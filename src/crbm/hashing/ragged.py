"""Sets of different sizes: as flat arrays, shared between cases, or padded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int, Int64
from torch import Tensor


class CandidateIds(NamedTuple):
    """Candidates as rows of a table of outputs, padded to the longest set.

    Parameters
    ----------
    ids
        Rows of the table; ascending for each case, then padded with row 0.
    mask
        True where a candidate is real and not padding.
    """

    ids: Int64[Tensor, "cases candidates"]
    mask: Bool[Tensor, "cases candidates"]


class Ragged(NamedTuple):
    """Sets of ids, one per row: row i is `ids[indptr[i]:indptr[i + 1]]`.

    Examples
    --------
    >>> sets = Ragged(np.array([0, 2, 3]), np.array([4, 7, 1]))
    >>> sets.sizes.tolist()
    [2, 1]
    >>> sets.select(np.array([1, 0])).ids.tolist()
    [1, 4, 7]
    """

    indptr: Int[np.ndarray, " ends"]
    ids: Int[np.ndarray, " total"]

    @property
    def n_rows(self) -> int:
        """The number of sets."""
        return len(self.indptr) - 1

    @property
    def sizes(self) -> Int[np.ndarray, " rows"]:
        """The number of ids in each row."""
        return np.diff(self.indptr)

    def select(self, rows: Int[np.ndarray, " chosen"]) -> Ragged:
        """The chosen rows, in that order; rows may repeat."""
        starts, stops = self.indptr[rows].tolist(), self.indptr[rows + 1].tolist()
        parts = [self.ids[a:b] for a, b in zip(starts, stops, strict=True)]
        ids = np.concatenate(parts) if parts else self.ids[:0]
        return Ragged(_ends(self.sizes[rows]), ids)

    def padded(self) -> CandidateIds:
        """Tensors in which all rows are padded to the longest.

        Examples
        --------
        >>> sets = Ragged(np.array([0, 2, 3]), np.array([4, 7, 1]))
        >>> sets.padded().ids.tolist(), sets.padded().mask.tolist()
        ([[4, 7], [1, 0]], [[True, True], [True, False]])
        """
        width = int(self.sizes.max(initial=0))
        mask = np.arange(width) < self.sizes[:, None]
        ids = np.zeros(mask.shape, dtype=np.int64)
        ids[mask] = self.ids
        return CandidateIds(torch.from_numpy(ids), torch.from_numpy(mask))


class Groups(NamedTuple):
    """Sets that many cases share, each stored once: case i has the set `which[i]`.

    Parameters
    ----------
    which
        The row of `sets` for each case.
    sets
        The distinct sets; ids ascend in each.

    Examples
    --------
    >>> groups = Groups(np.array([1, 0, 1]), Ragged(np.array([0, 2, 3]), np.arange(3)))
    >>> groups.sizes.tolist(), groups.ragged().ids.tolist()
    ([1, 2, 1], [2, 0, 1, 2])
    """

    which: Int[np.ndarray, " cases"]
    sets: Ragged

    @property
    def sizes(self) -> Int[np.ndarray, " cases"]:
        """The number of ids in the set of each case."""
        return self.sets.sizes[self.which]

    def select(self, cases: Int[np.ndarray, " chosen"] | slice) -> Groups:
        """The chosen cases; the sets stay shared."""
        return Groups(self.which[cases], self.sets)

    def ragged(self) -> Ragged:
        """The sets with one copy per case."""
        return self.sets.select(self.which)

    def padded(self) -> CandidateIds:
        """Tensors in which all sets are padded to the largest of these cases.

        A single set is not copied: the tensors are then expanded views of one row.
        """
        if self.sets.n_rows > 1:
            return self.ragged().padded()
        ids, mask = self.sets.padded()
        n_cases = len(self.which)
        return CandidateIds(ids.expand(n_cases, -1), mask.expand(n_cases, -1))

    def contains(self, ids: Int[np.ndarray, " cases"]) -> Bool[np.ndarray, " cases"]:
        """Whether the set of each case contains the given id; False for -1."""
        n_ids = int(max(self.sets.ids.max(initial=0), ids.max(initial=0))) + 1
        row = np.repeat(np.arange(self.sets.n_rows), self.sets.sizes)
        present, queries = row * n_ids + self.sets.ids, self.which * n_ids + ids
        return (ids >= 0) & np.isin(queries, present)


def stack(parts: list[Ragged]) -> Ragged:
    """The rows of all parts, concatenated."""
    empty = Ragged(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32))
    parts = [empty, *parts]
    sizes = np.concatenate([part.sizes for part in parts])
    return Ragged(_ends(sizes), np.concatenate([part.ids for part in parts]))


def _ends(sizes: Int[np.ndarray, " rows"]) -> Int64[np.ndarray, " ends"]:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
