"""Look-up of outputs by code, within a Hamming distance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, UInt64
from scipy import sparse

from crbm import checks
from crbm.hashing import codes as binary
from crbm.hashing.ragged import Groups, Ragged, stack

# Elements of the largest temporary array: small enough for a core's cache.
BLOCK = 2**16
# One look-up costs about as much as this many comparisons with stored codes.
LOOK_UP_COST = 2
# 2^64 divided by the golden ratio, the multiplier of Fibonacci hashing.
SPREAD = np.uint64(0x9E3779B97F4A7C15)

Pairs = tuple[Int[np.ndarray, " found"], Int[np.ndarray, " found"]]


@dataclass(frozen=True, eq=False)
class CodeIndex:
    """Distinct codes, each with the distinct outputs of its training cases.

    Immutable; created by `build`.

    Parameters
    ----------
    codes
        Distinct packed codes, ascending.
    outputs
        Row i holds the ids of the outputs of `codes[i]`, ascending.
    n_bits
        Length of a code.

    Notes
    -----
    The hash map of [1]_, Section 6.1: keys are codes of inputs, values are outputs.

    Examples
    --------
    >>> index = CodeIndex.build(
    ...     np.array([0b000, 0b001, 0b111], dtype=np.uint64), np.array([5, 5, 2]), 3
    ... )
    >>> near = index.search(np.array([0b000, 0b110], dtype=np.uint64), radius=1)
    >>> [near.ids[a:b].tolist() for a, b in zip(near.indptr, near.indptr[1:])]
    [[5], [2]]
    """

    codes: UInt64[np.ndarray, " codes"]
    outputs: Ragged
    n_bits: int

    @classmethod
    def build(
        cls,
        codes: UInt64[np.ndarray, " cases"],
        ids: Int[np.ndarray, " cases"],
        n_bits: int,
    ) -> CodeIndex:
        """The index of training cases with these codes and these outputs."""
        if len(codes) == 0:
            raise ValueError("An index needs at least one case; got none.")
        order = np.lexsort((ids, codes))
        codes, ids = codes[order], ids[order]
        changed = (codes[1:] != codes[:-1]) | (ids[1:] != ids[:-1])
        new = np.concatenate([[True], changed])
        distinct, starts = np.unique(codes[new], return_index=True)
        ends = np.append(starts, new.sum()).astype(np.int64)
        return cls(distinct, Ragged(ends, ids[new].astype(np.int32)), n_bits)

    def search(self, queries: UInt64[np.ndarray, " queries"], *, radius: int) -> Ragged:
        """The distinct outputs of all codes within `radius` of each query.

        If no stored code is within `radius`, those at the smallest distance are used,
        so that no result is empty. Ids ascend in each row.
        """
        return self.groups(queries, radius=radius).ragged()

    def groups(self, queries: UInt64[np.ndarray, " queries"], *, radius: int) -> Groups:
        """The result of `search`, with one set per distinct query."""
        checks.whole_number("radius", radius, at_least=0)
        distinct, which = np.unique(queries, return_inverse=True)
        radius = min(radius, self.n_bits)
        width = min(binary.ball_size(self.n_bits, radius), len(self.codes))
        sets = [
            self._union(distinct[block], radius)
            for block in blocks(len(distinct), width, size=16 * BLOCK)
        ]
        return Groups(which, stack(sets))

    @property
    def n_pairs(self) -> int:
        """The number of distinct pairs of a code and an output."""
        return len(self.outputs.ids)

    @cached_property
    def n_outputs(self) -> int:
        """One more than the largest id of an output."""
        return int(self.outputs.ids.max()) + 1

    def _union(self, queries: UInt64[np.ndarray, " queries"], radius: int) -> Ragged:
        """The distinct outputs of all codes near each query."""
        pairs = self.neighbours(queries, radius)
        return as_ragged(self.outputs_of(pairs, len(queries)))

    def outputs_of(self, pairs: Pairs, n_queries: int) -> sparse.csr_array:
        """True where an output is one of the codes paired with a query."""
        rows, columns = pairs
        shape = (n_queries, len(self.codes))
        near = sparse.coo_array((np.ones(len(rows), bool), (rows, columns)), shape)
        # A product of boolean matrices is a union of sets: no output is repeated.
        return near.tocsr() @ self._outputs_by_code

    @cached_property
    def _outputs_by_code(self) -> sparse.csr_array:
        ids, ends = self.outputs.ids, self.outputs.indptr
        shape = (len(self.codes), self.n_outputs)
        return sparse.csr_array((np.ones(len(ids), bool), ids, ends), shape)

    def within(self, queries: UInt64[np.ndarray, " queries"], radius: int) -> Pairs:
        """Pairs of a query and a stored code within `radius`; perhaps none."""
        everyone = np.arange(len(queries))
        if LOOK_UP_COST * binary.ball_size(self.n_bits, radius) <= len(self.codes):
            masks = binary.ball(self.n_bits, radius)
            return self._look_up(queries, everyone, masks)
        return self._compare_with_all(queries, everyone, radius, nearest=False)

    def neighbours(self, queries: UInt64[np.ndarray, " queries"], radius: int) -> Pairs:
        """Pairs of a query and a stored code near it, from a ball and growing rings."""
        parts, distance = [], radius
        n_masks = binary.ball_size(self.n_bits, radius)
        pending = np.arange(len(queries))
        while len(pending):
            if LOOK_UP_COST * n_masks > len(self.codes):
                parts.append(self._compare_with_all(queries, pending, radius))
                break
            shape = binary.ball if distance == radius else binary.ring
            masks = shape(self.n_bits, distance)
            parts.append(self._look_up(queries, pending, masks))
            pending = np.setdiff1d(pending, parts[-1][0])
            distance += 1
            n_masks = binary.ring_size(self.n_bits, distance)
        rows, columns = zip(*parts, strict=True)
        return np.concatenate(rows), np.concatenate(columns)

    def _look_up(
        self,
        queries: UInt64[np.ndarray, " queries"],
        pending: Int[np.ndarray, " pending"],
        masks: UInt64[np.ndarray, " masks"],
    ) -> Pairs:
        """Stored codes that equal a query XOR one of the masks."""
        rows, columns = [], []
        for block in blocks(len(pending), len(masks), size=BLOCK):
            keys = (queries[pending[block], None] ^ masks).ravel()
            maybe = np.flatnonzero(self._filter.take(_bucket(keys, self._filter)))
            position = np.searchsorted(self.codes, keys[maybe])
            position = np.minimum(position, len(self.codes) - 1)
            hit = self.codes[position] == keys[maybe]
            rows.append(pending[block][maybe[hit] // len(masks)])
            columns.append(position[hit])
        return np.concatenate(rows), np.concatenate(columns)

    def _compare_with_all(
        self,
        queries: UInt64[np.ndarray, " queries"],
        pending: Int[np.ndarray, " pending"],
        radius: int,
        *,
        nearest: bool = True,
    ) -> Pairs:
        """Stored codes within `radius`, else the nearest, by their distances to all."""
        rows, columns = [], []
        for block in blocks(len(pending), len(self.codes), size=BLOCK):
            distance = np.bitwise_count(queries[pending[block], None] ^ self.codes)
            limit: Any = radius
            if nearest:
                limit = np.maximum(distance.min(1, keepdims=True), radius)
            row, column = np.nonzero(distance <= limit)
            rows.append(pending[block][row])
            columns.append(column)
        return np.concatenate(rows), np.concatenate(columns)

    @cached_property
    def _filter(self) -> Bool[np.ndarray, " buckets"]:
        """A Bloom filter with one hash: True in the buckets of stored codes.

        It rejects most other codes, which saves their far slower binary searches.
        """
        n_buckets = 2 ** (len(self.codes).bit_length() + 5)
        buckets = np.zeros(n_buckets, dtype=bool)
        buckets[_bucket(self.codes, buckets)] = True
        return buckets


def _bucket(
    codes: UInt64[np.ndarray, " n"], buckets: Bool[np.ndarray, " buckets"]
) -> Int[np.ndarray, " n"]:
    spread = codes * SPREAD
    spread >>= np.uint64(65 - len(buckets).bit_length())
    return spread.view(np.int64)


def as_ragged(union: sparse.csr_array) -> Ragged:
    """The columns of each row of a boolean matrix, ascending."""
    union.sort_indices()
    return Ragged(union.indptr.astype(np.int64), union.indices.astype(np.int32))


def blocks(n_rows: int, width: int, *, size: int) -> Iterator[slice]:
    """Slices of rows whose arrays of `width` columns have at most `size` elements."""
    step = max(1, size // width)
    for start in range(0, n_rows, step):
        yield slice(start, start + step)
