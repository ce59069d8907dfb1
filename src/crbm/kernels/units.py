"""Samples, means and free energies of binary units."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int16, Int64, UInt64
from torch import Tensor
from torch.nn.functional import softplus

from crbm.kernels.dispatch import compiled_kernels, n_threads, supports

# Elements per block when torch computes log-odds of rows: on the CPU a megabyte, which
# fits the cache; other devices need larger blocks to be busy.
BLOCK, BLOCK_OTHER_DEVICES = 2**18, 2**26


class RowLogits(NamedTuple):
    """The fields of hidden units for rows of a shared table, as two summands.

    Their sum has one row of hidden units per case and candidate. It would be the
    largest tensor in training on candidates; the functions below avoid building it.

    Parameters
    ----------
    by_row
        The contribution of each row of the table.
    by_case
        The contribution of each case's input.
    """

    by_row: Float[Tensor, "rows hidden"]
    by_case: Float[Tensor, "batch hidden"]


class Lanes:
    """Random words from 64 generators in parallel: word i is from generator i % 64.

    Each lane is an SFC64 with NumPy's algorithm: three seed words, a counter that
    starts at 1, and the first outputs discarded. The processor advances several lanes
    with one instruction.

    Parameters
    ----------
    seeds
        `N_SEEDS` random words.
    """

    N_LANES = 64
    N_SEEDS = 3 * N_LANES

    def __init__(self, seeds: Int64[np.ndarray, " seeds"]) -> None:
        self.state = np.empty((4, self.N_LANES), dtype=np.uint64)
        self._after = np.empty_like(self.state)
        discarded = np.empty(self.N_LANES, dtype=np.uint64)
        compiled_kernels().seed(seeds, *self.state, discarded)

    def words(self, n_words: int) -> UInt64[np.ndarray, " words"]:
        """The next words, from lane 0 on. Only lanes that are used advance."""
        words = np.empty(n_words, dtype=np.uint64)
        compiled_kernels().random_words(*self.state, words)
        return words

    def bernoulli_(
        self, x: Float[Tensor, "*shape"], *, logits: bool = False
    ) -> Float[Tensor, "*shape"]:
        """`bernoulli_` with the bits of the next words, generated block by block."""
        flat = x.numpy().reshape(-1)
        compiled_kernels().bernoulli_from_lanes_(
            flat, logits, self.state, self._after, n_threads(flat.size)
        )
        self.state, self._after = self._after, self.state
        return x


def bernoulli_(
    x: Float[Tensor, "*shape"], bits: Int16[Tensor, "*shape"], *, logits: bool = False
) -> Float[Tensor, "*shape"]:
    """Replace probabilities, or log-odds with `logits`, by samples of 0 and 1.

    Only for tensors that `supports` accepts.

    Parameters
    ----------
    x
        Overwritten and returned.
    bits
        16 random bits per sample. A sample is 1 where they, as a number in [0, 1), lie
        below the probability.
    """
    kernel = (
        compiled_kernels().bernoulli_from_logits_
        if logits
        else compiled_kernels().bernoulli_
    )
    kernel(x.numpy().reshape(-1), bits.numpy().reshape(-1))
    return x


def copy_rows_(
    old: Float[Tensor, "*rows units"],
    new: Float[Tensor, "*rows units"],
    rows: Bool[Tensor, "*rows"],
) -> None:
    """`old[rows] = new[rows]`, for any tensors.

    Examples
    --------
    >>> old = torch.zeros(2, 3)
    >>> copy_rows_(old, torch.ones(2, 3), torch.tensor([False, True]))
    >>> old.tolist()
    [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """
    if old.ndim == 2 and supports(old) and supports(new):
        compiled_kernels().copy_rows(old.numpy(), new.numpy(), rows.numpy())
    else:
        old[rows] = new[rows]


def softplus_and_means(
    logits: Float[Tensor, "*states hidden"],
) -> tuple[Float[Tensor, "*states"], Float[Tensor, "*states hidden"]]:
    """The sum of log(1 + e^x) over the last dimension, and sigmoid(x) of each element.

    For any tensors. May overwrite its argument: where `supports(logits)`, the means
    are returned in the memory of `logits`. Pass a copy to keep it.

    Examples
    --------
    >>> total, means = softplus_and_means(torch.zeros(3, 4))
    >>> means[0]
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    if not supports(logits):
        return softplus(logits).sum(-1), logits.sigmoid()
    shape = logits.shape
    total = np.empty(shape[:-1], dtype=np.float32)
    rows = logits.numpy().reshape(-1, shape[-1])
    compiled_kernels().softplus_and_means(rows, total.reshape(-1), n_threads(rows.size))
    return torch.from_numpy(total), logits


def softplus_of_rows(
    logits: RowLogits, ids: Int[Tensor, "batch states"]
) -> Float[Tensor, "batch states"]:
    """The sum of log(1 + e^x) over hidden units, for the rows `ids` of each case.

    The compiled kernel does not check that `ids` are valid; the caller must.

    Examples
    --------
    >>> logits = RowLogits(torch.zeros(3, 4), torch.zeros(2, 4))
    >>> softplus_of_rows(logits, torch.tensor([[0, 2], [1, 1]])).exp()
    tensor([[16., 16.],
            [16., 16.]])
    """
    if not _supports_rows(logits):
        return torch.cat([softplus(x).sum(-1) for x, _ in row_blocks(logits, ids)])
    total = logits.by_row.new_empty(ids.shape)
    tensors = (*logits, ids, total)
    compiled_kernels().softplus_of_rows(*(tensor.numpy() for tensor in tensors))
    return total


def means_of_rows(
    logits: RowLogits,
    ids: Int[Tensor, "batch states"],
    weight: Float[Tensor, "batch states"],
) -> tuple[Float[Tensor, "rows hidden"], Float[Tensor, "batch hidden"]]:
    """Sums of weighted sigmoid(x): by row over all cases, and by case over its rows.

    The compiled kernel does not check that `ids` are valid; the caller must.

    Examples
    --------
    >>> logits = RowLogits(torch.zeros(3, 1), torch.zeros(2, 1))
    >>> ids, weight = torch.tensor([[0, 2], [1, 1]]), torch.ones(2, 2)
    >>> [sums.flatten().tolist() for sums in means_of_rows(logits, ids, weight)]
    [[0.5, 1.0, 0.5], [1.0, 1.0]]
    """
    if not _supports_rows(logits):
        return mean_sums(torch.sigmoid_, logits, ids, weight)
    by_row, by_case = (torch.zeros_like(part) for part in logits)
    tensors = (*logits, ids, weight, by_row, by_case)
    compiled_kernels().means_of_rows(*(tensor.numpy() for tensor in tensors))
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


def _supports_rows(logits: RowLogits) -> bool:
    by_row, by_case = logits
    return supports(by_case) and by_row.is_contiguous() and not by_row.requires_grad


def row_blocks(logits: RowLogits, ids: Tensor) -> Iterator[tuple[Tensor, slice]]:
    """The summed log-odds of a few cases at a time, and which cases they are.

    Blocks that fit the cache are faster than one large allocation.
    """
    n_hidden = logits.by_row.shape[1]
    size = BLOCK if logits.by_row.device.type == "cpu" else BLOCK_OTHER_DEVICES
    n_cases = max(1, size // max(1, ids.shape[1] * n_hidden))
    for first in range(0, max(1, len(ids)), n_cases):
        cases = slice(first, first + n_cases)
        block_ids = ids[cases]
        x = logits.by_row.index_select(0, block_ids.flatten())
        x = x.view(*block_ids.shape, n_hidden).add_(logits.by_case[cases, None])
        yield x, cases
