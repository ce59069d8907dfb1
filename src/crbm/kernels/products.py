"""Products of matrices, by the loops of `rows` where one of them is mostly zeros.

A pixel or a word that is absent adds nothing, and most of them are: of a binary digit
an eighth is ink. Which way a product is made depends on the numbers alone, so a run
repeats bit for bit; the two ways differ by rounding. The loops do not look whether
shapes fit: what does not is left to torch, which tells.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from crbm import kernels

# The share of numbers that are not zero up to which a loop is faster than one thread of
# torch; a product on several threads takes less time.
FEW = 1 / 3
N_ROWS_SEEN = 8  # of those that are counted to find out
WORTH_COUNTING = 2**20  # multiplications


def affine(
    x: Float[Tensor, "rows inner"],
    weight: Float[Tensor, "inner outer"],
    bias: Float[Tensor, "*rows outer"],
) -> Float[Tensor, "rows outer"]:
    """X W + b, for tensors of any kind.

    Examples
    --------
    >>> affine(torch.ones(2, 3), torch.ones(3, 1), torch.ones(1))
    tensor([[4.],
            [4.]])
    """
    if x.shape[1] != len(weight) or not _mostly_zeros(x, weight, bias):
        return torch.addmm(bias, x, weight)
    total = np.empty((len(x), weight.shape[1]), dtype=np.float32)
    total[:] = bias.detach().numpy()
    _rows().add_products(x.numpy(), weight.detach().numpy(), np.float32(1), total)
    return torch.from_numpy(total)


def add_product_(
    total: Float[Tensor, "inner outer"],
    x: Float[Tensor, "rows inner"],
    y: Float[Tensor, "rows outer"],
    scale: float,
) -> None:
    """Add `scale` times X^T Y to a total, for tensors of any kind.

    Examples
    --------
    >>> total = torch.zeros(3, 1)
    >>> add_product_(total, torch.ones(2, 3), torch.ones(2, 1), 0.5)
    >>> total.T
    tensor([[1., 1., 1.]])
    """
    fitting = len(x) == len(y) and total.shape == (x.shape[1], y.shape[1])
    if fitting and _mostly_zeros(x, y, total):
        arrays = x.numpy().T, y.numpy(), np.float32(scale), total.numpy()
        _rows().add_products(*arrays)
    else:
        total.addmm_(x.T, y, alpha=scale)


def _mostly_zeros(x: Tensor, *others: Tensor) -> bool:
    """Whether few numbers of x are not zero, and the loops can work with the others."""
    if (
        x.numel() * others[0].shape[1] < WORTH_COUNTING
        or not kernels.serve(x)
        or not all(o.is_contiguous() and o.dtype == x.dtype for o in others)
        or (torch.is_grad_enabled() and any(other.requires_grad for other in others))
    ):
        return False
    seen = x[:: max(1, len(x) // N_ROWS_SEEN)]
    share = _rows().n_others(seen.numpy()) / seen.numel()
    return share * torch.get_num_threads() < FEW


@cache
def _rows() -> Any:
    from crbm.kernels import rows

    return rows
