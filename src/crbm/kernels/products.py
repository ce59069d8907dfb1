"""Matrix products that skip zeros where one factor is mostly zeros.

Absent pixels and words contribute nothing to a product, and most of them are absent: an
eighth of a binary digit's pixels are ink. Other products go to torch, or to oneDNN
where that is faster. The choice depends only on the numbers, the number of threads and
the processor, so a run repeats bit for bit. The three differ by rounding. The compiled
kernels do not check shapes: mismatched shapes fall through to torch, which raises.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import Tensor

from crbm.kernels import onednn
from crbm.kernels.dispatch import compiled_kernels, n_threads, supports

# Up to this share of nonzero elements the compiled kernel is faster than torch on as
# many threads, or than oneDNN.
MAX_NONZERO, MAX_NONZERO_ONEDNN = 1 / 3, 1 / 6
N_ROWS_COUNTED = 8  # rows whose elements are counted to estimate that share
MIN_MULTIPLICATIONS = 2**20  # below this counting costs more than it saves


def affine(
    x: Float[Tensor, "rows inner"],
    weight: Float[Tensor, "inner outer"],
    bias: Float[Tensor, "*rows outer"],
) -> Float[Tensor, "rows outer"]:
    """X W + b, for any tensors.

    Examples
    --------
    >>> affine(torch.ones(2, 3), torch.ones(3, 1), torch.ones(1))
    tensor([[4.],
            [4.]])
    """
    if x.shape[1] != weight.shape[0] or not _is_large(x, weight):
        return torch.addmm(bias, x, weight)
    n_rows, n_outer = x.shape[0], weight.shape[1]
    if _mostly_zeros(x, weight, bias):
        total = np.empty((n_rows, n_outer), dtype=np.float32)
        total[:] = bias.detach().numpy()
        _add_products(x.numpy(), weight.detach().numpy(), 1.0, total)
        return torch.from_numpy(total)
    fits = bias.shape in ((n_outer,), (1, n_outer), (n_rows, n_outer))
    if fits and onednn.supports(x, weight, bias):
        return onednn.affine(x, weight, bias)
    return torch.addmm(bias, x, weight)


def add_product_(
    total: Float[Tensor, "inner outer"],
    x: Float[Tensor, "rows inner"],
    y: Float[Tensor, "rows outer"],
    scale: float,
    *,
    shapes_recur: bool = True,
) -> None:
    """Add `scale` times X^T Y to `total`, for any tensors.

    Where `shapes_recur`, as those of batches do, oneDNN may compute it: it spends a
    millisecond on the first product of each shape.

    Examples
    --------
    >>> total = torch.zeros(3, 1)
    >>> add_product_(total, torch.ones(2, 3), torch.ones(2, 1), 0.5)
    >>> total.T
    tensor([[1., 1., 1.]])
    """
    same_rows = x.shape[0] == y.shape[0]  # faster than `len`
    shapes_match = same_rows and total.shape == (x.shape[1], y.shape[1])
    if not (shapes_match and _is_large(x, y)):
        total.addmm_(x.T, y, alpha=scale)
    elif _mostly_zeros(x, y, total):
        _add_products(x.numpy().T, y.numpy(), scale, total.numpy())
    elif shapes_recur and onednn.supports(x, y, total):
        total.add_(onednn.transposed_product(x, y), alpha=scale)
    else:
        total.addmm_(x.T, y, alpha=scale)


def dots(
    x: Float[Tensor, "... units"], y: Float[Tensor, "... units"]
) -> Float[Tensor, "..."]:
    """The inner products along the last dimension, for any tensors that broadcast.

    The compiled kernel does not allocate the elementwise product of x and y, which
    costs more than the arithmetic.
    """
    if x.shape == y.shape and x.ndim == 2 and supports(x) and supports(y):
        total = np.empty(x.shape[0], dtype=np.float32)
        compiled_kernels().dots(x.numpy(), y.numpy(), total, n_threads(x.numel()))
        return torch.from_numpy(total)
    return x @ y if y.ndim == 1 else (x * y).sum(-1)


def _is_large(x: Tensor, other: Tensor) -> bool:
    return x.numel() * other.shape[1] >= MIN_MULTIPLICATIONS


def _mostly_zeros(x: Tensor, *others: Tensor) -> bool:
    """Whether x is mostly zeros and the compiled kernel supports all tensors."""
    if (
        not supports(x)
        or not all(o.is_contiguous() and o.dtype == x.dtype for o in others)
        or (torch.is_grad_enabled() and any(other.requires_grad for other in others))
    ):
        return False
    sample = x[:: max(1, len(x) // N_ROWS_COUNTED)]
    share = compiled_kernels().count_nonzero(sample.numpy()) / sample.numel()
    limit = MAX_NONZERO_ONEDNN if onednn.is_faster() else MAX_NONZERO
    return share * torch.get_num_threads() < limit * n_threads(x.numel())


def _add_products(x: Array, y: Array, scale: float, total: Array) -> None:
    kernel = compiled_kernels().add_products
    kernel(x, y, np.float32(scale), total, n_threads(x.size))
