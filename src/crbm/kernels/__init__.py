"""Loops over units in one pass, where torch would make several.

They are compiled by Numba, if it is installed (`pip install crbm[fast]`), for single
precision on the CPU. Everything else is left to torch's own operations, which give the
same up to rounding; only long chains of samples take other bits, see `sampling.Stream`.
A loop runs on one thread, however many torch has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int16, Int64, UInt64
from torch import Tensor
from torch.nn.functional import softplus

# Smaller tensors are done before a call of a loop has found out what it was given.
WORTH_CALLING = 2**10
# Numbers in a block of a large tensor that torch makes: a megabyte stays in the
# processor's cache; other devices want more work at a time.
BLOCK, BLOCK_ELSEWHERE = 2**18, 2**26
_WANTED = ContextVar("wanted", default=True)


class RowLogits(NamedTuple):
    """The fields of hidden units for rows of a shared table, in two parts.

    Their sum, one row of hidden units for each case and candidate, is the largest
    tensor in learning from candidates, and is never formed.

    Parameters
    ----------
    by_row
        What each row of the table contributes.
    by_case
        What the input of each case contributes.
    """

    by_row: Float[Tensor, "rows hidden"]
    by_case: Float[Tensor, "batch hidden"]


@contextmanager
def left_to_torch() -> Iterator[None]:
    """A block in which the loops are not used, as if Numba were not installed.

    Examples
    --------
    >>> with left_to_torch():
    ...     serve(torch.zeros(64, 64))
    False
    """
    token = _WANTED.set(False)
    try:
        yield
    finally:
        _WANTED.reset(token)


def compiled() -> bool:
    """Whether there are loops, and wanted."""
    return _WANTED.get() and _loops() is not None


def serve(x: Tensor) -> bool:
    """Whether the loops can work in the memory of such a tensor."""
    return (
        x.dtype == torch.float32
        and x.device.type == "cpu"
        and not x.requires_grad
        and x.numel() >= WORTH_CALLING
        and x.is_contiguous()
        and compiled()
    )


class Lanes:
    """Random words from 64 generators in step: word i is of generator i modulo 64.

    Each is an SFC64, as NumPy has it: its three words of seed, a counter from 1, and
    the first words dropped. The processor takes a step of several at once.

    Parameters
    ----------
    seeds
        As many random words as `N_SEEDS`.
    """

    N_LANES = 64
    N_SEEDS = 3 * N_LANES

    def __init__(self, seeds: Int64[np.ndarray, " seeds"]) -> None:
        self.state = tuple(np.empty((4, self.N_LANES), dtype=np.uint64))
        self.block = np.empty(self.N_LANES, dtype=np.uint64)
        self.bits = self.block.view(np.int16)
        _loops().seed(seeds, *self.state, self.block)

    def words(self, n_words: int) -> UInt64[np.ndarray, " words"]:
        """The next words; generators that a draw left out are behind by one."""
        words = np.empty(n_words, dtype=np.uint64)
        _loops().fill(*self.state, words)
        return words

    def below_(
        self, x: Float[Tensor, "*shape"], *, logits: bool = False
    ) -> Float[Tensor, "*shape"]:
        """`below_` by the bits of the next words, of which few are made at a time."""
        flat = x.numpy().reshape(-1)
        _loops().draw(flat, logits, *self.state, self.block, self.bits)
        return x


def below_(
    x: Float[Tensor, "*shape"], bits: Int16[Tensor, "*shape"], *, logits: bool = False
) -> Float[Tensor, "*shape"]:
    """1 where 16 random bits lie below x, in its memory; below sigmoid(x) of logits.

    For tensors that the loops serve.
    """
    loop = _loops().below_sigmoid if logits else _loops().below
    loop(x.numpy().reshape(-1), bits.numpy().reshape(-1))
    return x


def dots(
    x: Float[Tensor, "... units"], y: Float[Tensor, "... units"]
) -> Float[Tensor, ...]:
    """The inner products along the last dimension, of shapes that broadcast.

    For tensors of any kind. A table as large as x and y is not made where the loops
    serve them: fresh memory costs more than arithmetic.
    """
    if x.shape == y.shape and x.ndim == 2 and serve(x) and serve(y):
        total = np.empty(x.shape[0], dtype=np.float32)
        _loops().dots(x.numpy(), y.numpy(), total)
        return torch.from_numpy(total)
    return x @ y if y.ndim == 1 else (x * y).sum(-1)


def copy_rows_(
    old: Float[Tensor, "*rows units"],
    new: Float[Tensor, "*rows units"],
    rows: Bool[Tensor, "*rows"],
) -> None:
    """`old[rows] = new[rows]`, for tensors of any kind.

    Examples
    --------
    >>> old = torch.zeros(2, 3)
    >>> copy_rows_(old, torch.ones(2, 3), torch.tensor([False, True]))
    >>> old.tolist()
    [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """
    if old.ndim == 2 and serve(old) and serve(new):
        _loops().copy_rows(old.numpy(), new.numpy(), rows.numpy())
    else:
        old[rows] = new[rows]


def softplus_and_means(
    logits: Float[Tensor, "*states hidden"],
) -> tuple[Float[Tensor, "*states"], Float[Tensor, "*states hidden"]]:
    """The sum of log(1 + e^x) over the last dimension, and sigmoid(x) of each.

    For tensors of any kind; those that the loops serve are overwritten.

    Examples
    --------
    >>> total, means = softplus_and_means(torch.zeros(3, 4))
    >>> means[0]
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    if not serve(logits):
        return softplus(logits).sum(-1), logits.sigmoid()
    shape = logits.shape
    total = np.empty(shape[:-1], dtype=np.float32)
    rows = logits.numpy().reshape(-1, shape[-1])
    _loops().softplus_and_means(rows, total.reshape(-1))
    return torch.from_numpy(total), logits


def softplus_of_rows(
    logits: RowLogits, ids: Int[Tensor, "batch states"]
) -> Float[Tensor, "batch states"]:
    """The sum of log(1 + e^x) over hidden units, for the rows `ids` of each case.

    A loop does not look whether there are such rows: that is for the caller to know.

    Examples
    --------
    >>> logits = RowLogits(torch.zeros(3, 4), torch.zeros(2, 4))
    >>> softplus_of_rows(logits, torch.tensor([[0, 2], [1, 1]])).exp()
    tensor([[16., 16.],
            [16., 16.]])
    """
    if not _serve_rows(logits):
        return torch.cat([softplus(x).sum(-1) for x, _ in row_blocks(logits, ids)])
    total = logits.by_row.new_empty(ids.shape)
    tensors = (*logits, ids, total)
    _loops().softplus_of_rows(*(tensor.numpy() for tensor in tensors))
    return total


def means_of_rows(
    logits: RowLogits,
    ids: Int[Tensor, "batch states"],
    weight: Float[Tensor, "batch states"],
) -> tuple[Float[Tensor, "rows hidden"], Float[Tensor, "batch hidden"]]:
    """Sums of weighted sigmoid(x): by row over all cases, and by case over its rows.

    As in `softplus_of_rows`, `ids` are not looked at.

    Examples
    --------
    >>> logits = RowLogits(torch.zeros(3, 1), torch.zeros(2, 1))
    >>> ids, weight = torch.tensor([[0, 2], [1, 1]]), torch.ones(2, 2)
    >>> [sums.flatten().tolist() for sums in means_of_rows(logits, ids, weight)]
    [[0.5, 1.0, 0.5], [1.0, 1.0]]
    """
    if not _serve_rows(logits):
        return mean_sums(torch.sigmoid_, logits, ids, weight)
    by_row, by_case = (torch.zeros_like(part) for part in logits)
    tensors = (*logits, ids, weight, by_row, by_case)
    _loops().means_of_rows(*(tensor.numpy() for tensor in tensors))
    return by_row, by_case


def mean_sums(
    mean: Callable[[Tensor], Tensor],
    logits: RowLogits,
    ids: Int[Tensor, "batch states"],
    weight: Float[Tensor, "batch states"],
) -> tuple[Float[Tensor, "rows hidden"], Float[Tensor, "batch hidden"]]:
    """Sums of weighted `mean(x)`: by row over all cases, and by case over its rows."""
    by_row, by_case = (torch.zeros_like(part) for part in logits)
    for x, cases in row_blocks(logits, ids):
        h = mean(x).mul_(weight[cases, :, None])
        by_row.index_add_(0, ids[cases].flatten(), h.flatten(0, 1))
        by_case[cases] = h.sum(1)
    return by_row, by_case


def _serve_rows(logits: RowLogits) -> bool:
    by_row, by_case = logits
    return serve(by_case) and by_row.is_contiguous() and not by_row.requires_grad


def row_blocks(logits: RowLogits, ids: Tensor) -> Iterator[tuple[Tensor, slice]]:
    """Log-odds of a few cases at a time, as fresh memory costs more than arithmetic."""
    n_hidden = logits.by_row.shape[1]
    size = BLOCK if logits.by_row.device.type == "cpu" else BLOCK_ELSEWHERE
    n_cases = max(1, size // max(1, ids.shape[1] * n_hidden))
    for first in range(0, max(1, len(ids)), n_cases):
        cases = slice(first, first + n_cases)
        some = ids[cases]
        x = logits.by_row.index_select(0, some.flatten())
        yield x.view(*some.shape, n_hidden).add_(logits.by_case[cases, None]), cases


@cache
def _loops() -> Any:
    """The compiled loops, or None where Numba is missing or cannot work here.

    It may be at odds with the NumPy of the day, or find no folder to keep what it has
    compiled in. Its import takes most of a second, so it waits for the first use.
    """
    try:
        from crbm.kernels import loops
    except (ImportError, RuntimeError):
        return None
    return loops
