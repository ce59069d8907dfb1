"""An index of codes that grows in time that is linear in what is added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, UInt64
from scipy import sparse

from crbm import checks
from crbm.hashing import codes as binary
from crbm.hashing.index import BLOCK, CodeIndex, Pairs, as_ragged, blocks
from crbm.hashing.ragged import Groups, Ragged, stack


@dataclass(frozen=True, eq=False)
class GrowingIndex:
    """Several indices that answer as one.

    Each is at least twice as long as the next: adding cases makes a new, short one,
    and indices of similar length are merged. A case takes part in a logarithmic number
    of merges.

    Examples
    --------
    >>> index = GrowingIndex().add(np.array([0b00], dtype=np.uint64), np.array([5]), 2)
    >>> index = index.add(np.array([0b01], dtype=np.uint64), np.array([2]), 2)
    >>> index.groups(np.array([0b00], dtype=np.uint64), radius=1).ragged().ids.tolist()
    [2, 5]
    """

    runs: tuple[CodeIndex, ...] = ()

    def add(
        self,
        codes: UInt64[np.ndarray, " cases"],
        ids: Int[np.ndarray, " cases"],
        n_bits: int,
    ) -> GrowingIndex:
        """The index with more cases."""
        if not len(codes):
            return self
        runs = [*self.runs, CodeIndex.build(codes, ids, n_bits)]
        while len(runs) > 1 and runs[-2].n_pairs < 2 * runs[-1].n_pairs:
            runs[-2:] = [merge(*runs[-2:])]
        return GrowingIndex(tuple(runs))

    def whole(self) -> CodeIndex:
        """All of it as one index."""
        return merge(*self.runs)

    def groups(self, queries: UInt64[np.ndarray, " queries"], *, radius: int) -> Groups:
        """What `CodeIndex.groups` of all cases returns."""
        if len(self.runs) == 1:
            return self.runs[0].groups(queries, radius=radius)
        checks.whole_number("radius", radius, at_least=0)
        distinct, which = np.unique(queries, return_inverse=True)
        longest = self.runs[0]
        radius = min(radius, longest.n_bits)
        width = min(binary.ball_size(longest.n_bits, radius), len(longest.codes))
        sets = [
            self._union(distinct[block], radius)
            for block in blocks(len(distinct), width, size=16 * BLOCK)
        ]
        return Groups(which, stack(sets))

    def _union(self, queries: UInt64[np.ndarray, " queries"], radius: int) -> Ragged:
        """The distinct outputs of all codes near each query, in all runs."""
        n_outputs = max(run.n_outputs for run in self.runs)
        union = sparse.csr_array((len(queries), n_outputs), dtype=bool)
        pairs = self._neighbours(queries, radius)
        for run, own in zip(self.runs, pairs, strict=True):
            found = run.outputs_of(own, len(queries))
            found.resize((len(queries), n_outputs))
            union = union + found
        return as_ragged(union)

    def _neighbours(
        self, queries: UInt64[np.ndarray, " queries"], radius: int
    ) -> list[Pairs]:
        """Pairs of a query and a near code of each run."""
        near = [run.within(queries, radius) for run in self.runs]
        alone = np.ones(len(queries), dtype=bool)
        for rows, _ in near:
            alone[rows] = False
        if not alone.any():
            return near
        pending = np.flatnonzero(alone)
        far = self._nearest(queries[pending], radius)
        return [
            (np.concatenate([rows, pending[more]]), np.concatenate([columns, others]))
            for (rows, columns), (more, others) in zip(near, far, strict=True)
        ]

    def _nearest(
        self, queries: UInt64[np.ndarray, " queries"], radius: int
    ) -> list[Pairs]:
        """The codes at the smallest distance from each query, over all runs."""
        found = [run.neighbours(queries, radius) for run in self.runs]
        distances = [
            np.bitwise_count(queries[rows] ^ run.codes[columns])
            for run, (rows, columns) in zip(self.runs, found, strict=True)
        ]
        best = np.full(len(queries), binary.MAX_BITS + 1, dtype=np.uint8)
        for (rows, _), distance in zip(found, distances, strict=True):
            np.minimum.at(best, rows, distance)
        chosen = [
            d == best[rows] for (rows, _), d in zip(found, distances, strict=True)
        ]
        return [
            (rows[own], columns[own])
            for (rows, columns), own in zip(found, chosen, strict=True)
        ]


def merge(*runs: CodeIndex) -> CodeIndex:
    """One index with the cases of several."""
    if len(runs) == 1:
        return runs[0]
    codes = [np.repeat(run.codes, run.outputs.sizes) for run in runs]
    ids = [run.outputs.ids for run in runs]
    n_bits = runs[0].n_bits if runs else 0
    return CodeIndex.build(np.concatenate(codes), np.concatenate(ids), n_bits)
