"""A growing table of distinct label sets, one bit per label."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int64, UInt8, UInt64
from torch import Tensor

from crbm.hashing.outputs import PackedRows, as_bytes

# One spare row for this many is added when a table's memory is extended.
SPARE = 16
# Odd multipliers that mix the words of a row (those of splitmix64).
MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
HALF = np.uint64(32)
# A table of at most this many bytes in float32 is unpacked once and kept.
KEPT_BYTES = 2**24


class _Memory:
    """Rows of bytes of which the first `used` belong to some table."""

    def __init__(self, rows: UInt8[np.ndarray, "rows bytes"], used: int) -> None:
        self.rows, self.used = rows, used


class Run(NamedTuple):
    """Hashes of rows in ascending order, and the rows that have them."""

    hashes: UInt64[np.ndarray, " rows"]
    ids: Int[np.ndarray, " rows"]


class PackedSets:
    """Distinct label sets in order of arrival, one bit per label.

    Immutable: `extended` returns a longer table, which shares the memory. Time and
    memory of adding rows follow their number, up to a logarithm.

    Parameters
    ----------
    packed
        Distinct rows, the bits of each padded with zeros to whole bytes.
    n_labels
        The number of labels.

    Examples
    --------
    >>> from crbm.hashing.outputs import pack_rows
    >>> table = PackedSets.empty(3)
    >>> table, ids = table.extended(pack_rows(np.array([[1, 1, 0], [0, 0, 1]])))
    >>> table, ids = table.extended(pack_rows(np.array([[0, 0, 1], [1, 1, 1]])))
    >>> ids.tolist(), table.dense().tolist()
    ([0, 2], [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    """

    def __init__(self, packed: UInt8[np.ndarray, "rows bytes"], n_labels: int) -> None:
        self.n_labels = n_labels
        self._memory = _Memory(packed, len(packed))
        self._n_rows = len(packed)
        self._runs = _with_run((), hash_rows(packed), 0)
        self._dense: Tensor | None = None

    @classmethod
    def empty(cls, n_labels: int) -> PackedSets:
        """A table without rows."""
        return cls(np.zeros((0, -(-n_labels // 8)), dtype=np.uint8), n_labels)

    def __len__(self) -> int:
        return self._n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and labels."""
        return self._n_rows, self.n_labels

    @property
    def packed(self) -> UInt8[np.ndarray, "rows bytes"]:
        """The rows as bytes."""
        return self._memory.rows[: self._n_rows]

    @property
    def n_bytes(self) -> int:
        """Memory in use, with that of the look-up."""
        of_runs = sum(run.hashes.nbytes + run.ids.nbytes for run in self._runs)
        return self._memory.rows.nbytes + of_runs

    @property
    def n_dense_bytes(self) -> int:
        """What all rows would take as float32."""
        return 4 * self._n_rows * self.n_labels

    def dense(self) -> Float[Tensor, "rows labels"]:
        """All rows as float32; kept where that is small."""
        if self._dense is not None:
            return self._dense
        dense = self.rows(np.arange(self._n_rows))
        if self.n_dense_bytes <= KEPT_BYTES:
            self._dense = dense
        return dense

    def rows(self, ids: Int[np.ndarray, " chosen"]) -> Float[Tensor, "chosen labels"]:
        """The chosen rows as float32."""
        bits = np.unpackbits(self.packed[ids], axis=1, count=self.n_labels)
        return torch.from_numpy(bits).float()

    def set_sizes(self) -> Int64[Tensor, " rows"]:
        """How many labels each set has."""
        return torch.from_numpy(np.bitwise_count(self.packed).sum(1, dtype=np.int64))

    def locate(self, rows: PackedRows) -> Int64[np.ndarray, " cases"]:
        """The id of each row, -1 if it is not there or not complete."""
        return np.where(rows.complete, self._locate(rows.packed), -1)

    def extended(
        self, rows: PackedRows
    ) -> tuple[PackedSets, Int64[np.ndarray, " cases"]]:
        """A table with these rows too, and the id of each complete one."""
        keys = rows.keys[rows.complete]
        ids = self._locate(as_bytes(keys))
        unknown = ids < 0
        if not unknown.any():
            return self, ids
        new, places = np.unique(keys[unknown], return_inverse=True)
        ids[unknown] = self._n_rows + places
        return self._with_rows(as_bytes(new)), ids

    def _with_rows(self, new: UInt8[np.ndarray, "rows bytes"]) -> PackedSets:
        start, end = self._n_rows, self._n_rows + len(new)
        memory = self._memory
        if memory.used != start or end > len(memory.rows):
            spare = end + end // SPARE
            rows = np.zeros((spare, new.shape[1]), dtype=np.uint8)
            rows[:start] = self.packed
            memory = _Memory(rows, start)
        memory.rows[start:end] = new
        memory.used = end
        table = PackedSets.__new__(PackedSets)
        table.n_labels, table._memory, table._n_rows = self.n_labels, memory, end
        table._runs = _with_run(self._runs, hash_rows(new), start)
        table._dense = None
        return table

    def _locate(
        self, wanted: UInt8[np.ndarray, "cases bytes"]
    ) -> Int64[np.ndarray, " cases"]:
        found = np.full(len(wanted), -1, dtype=np.int64)
        if not len(wanted):
            return found
        hashes = hash_rows(wanted)
        for run in self._runs:
            self._locate_in(run, hashes, wanted, found)
        return found

    def _locate_in(
        self, run: Run, hashes: np.ndarray, wanted: np.ndarray, found: np.ndarray
    ) -> None:
        """Enter the ids of the rows in one run; different rows may share a hash."""
        pending = np.flatnonzero(found < 0)
        place = np.searchsorted(run.hashes, hashes[pending])
        while len(pending):
            inside = place < len(run.hashes)
            pending, place = pending[inside], place[inside]
            alike = run.hashes[place] == hashes[pending]
            pending, place = pending[alike], place[alike]
            ids = run.ids[place]
            same = self._are(ids, wanted[pending])
            found[pending[same]] = ids[same]
            pending, place = pending[~same], place[~same] + 1

    def _are(self, ids: np.ndarray, wanted: np.ndarray) -> Bool[np.ndarray, " n"]:
        return (self.packed[ids] == wanted).all(1)

    def __getstate__(self) -> dict[str, Any]:
        return {"packed": self.packed.copy(), "n_labels": self.n_labels}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def hash_rows(packed: UInt8[np.ndarray, "rows bytes"]) -> UInt64[np.ndarray, " rows"]:
    """A number of 64 bits for each row, equal for equal rows."""
    n_rows, n_bytes = packed.shape
    words = np.zeros((n_rows, -(-n_bytes // 8) * 8), dtype=np.uint8)
    words[:, :n_bytes] = packed
    hashes = np.zeros(n_rows, dtype=np.uint64)
    for word in words.view(np.uint64).T:
        hashes ^= word
        for multiplier in MULTIPLIERS:
            hashes *= multiplier
            hashes ^= hashes >> HALF
    return hashes


def _with_run(
    runs: tuple[Run, ...], hashes: UInt64[np.ndarray, " rows"], first: int
) -> tuple[Run, ...]:
    """The runs and a new one, of which those of similar length are merged.

    Each run is at least twice as long as the next, so that a row is merged a
    logarithmic number of times.
    """
    order = np.argsort(hashes, kind="stable")
    ids = (first + order).astype(np.int32)
    runs = (*runs, Run(hashes[order], ids)) if len(ids) else runs
    while len(runs) > 1 and len(runs[-2].ids) < 2 * len(runs[-1].ids):
        hashes = np.concatenate([run.hashes for run in runs[-2:]])
        order = np.argsort(hashes, kind="stable")
        ids = np.concatenate([run.ids for run in runs[-2:]])
        runs = (*runs[:-2], Run(hashes[order], ids[order]))
    return runs
