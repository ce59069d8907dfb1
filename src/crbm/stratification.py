"""Blocks of cases that have each label about equally often."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int64, Num

Labels = Num[np.ndarray, "cases labels"]


def stratified_blocks(
    Y: Labels,
    n_blocks: int,
    *,
    seed: int = 0,
    groups: Int64[np.ndarray, " cases"] | None = None,
) -> Int64[np.ndarray, " cases"]:
    """The block of each case, such that blocks share every label evenly.

    Cases are assigned label by label, the rarest label first, each to the block that
    still lacks the most of that label [1]_. Blocks differ in size by a few cases.

    Parameters
    ----------
    Y
        Labels as 0 and 1; unknown ones (NaN) do not count.
    n_blocks
        How many blocks.
    seed
        Order of the cases, and which block is taken among equals.
    groups
        Whole numbers from 0; cases of one group stay in one block.

    References
    ----------
    .. [1] K. Sechidis, G. Tsoumakas, I. Vlahavas, "On the Stratification of Multi-Label
       Data", ECML PKDD 2011.

    Examples
    --------
    >>> Y = np.repeat([[1, 0], [0, 1], [1, 1]], [4, 8, 2], axis=0)
    >>> blocks = stratified_blocks(Y, 2)
    >>> Y[blocks == 0].sum(0).tolist(), Y[blocks == 1].sum(0).tolist()
    ([3, 5], [3, 5])
    """
    rng = np.random.default_rng(seed)
    unit = np.arange(len(Y)) if groups is None else groups
    counts = _sums(unit, np.nan_to_num(Y))
    sizes = np.bincount(unit).astype(float)
    order = rng.permutation(len(sizes))
    blocks = np.empty(len(sizes), dtype=np.int64)
    blocks[order] = _assign(counts[order], sizes[order], n_blocks, rng)
    return blocks[unit]


def _sums(unit: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The number of each label in each unit."""
    counts = np.zeros((int(unit.max()) + 1, Y.shape[1]))
    np.add.at(counts, unit, Y)
    return counts


def _assign(
    counts: np.ndarray, sizes: np.ndarray, n_blocks: int, rng: np.random.Generator
) -> np.ndarray:
    """The block of each unit; those with the rarest label left come first."""
    block = np.full(len(sizes), -1)
    left = counts.sum(0)
    wanted = np.tile(left / n_blocks, (n_blocks, 1))
    room = np.full(n_blocks, sizes.sum() / n_blocks)
    while (block < 0).any():
        open_units = block < 0
        label = _rarest(left)
        if label is not None:
            open_units &= counts[:, label] > 0
        for unit in np.flatnonzero(open_units):
            lacking = room if label is None else wanted[:, label]
            # the last key is the first to compare by
            chosen = np.lexsort((rng.random(n_blocks), room, lacking))[-1]
            block[unit] = chosen
            wanted[chosen] -= counts[unit]
            room[chosen] -= sizes[unit]
            left -= counts[unit]
    return block


def _rarest(left: np.ndarray) -> int | None:
    """The label with the fewest cases left, or None where no label is left."""
    return int(np.where(left > 0, left, np.inf).argmin()) if (left > 0).any() else None
