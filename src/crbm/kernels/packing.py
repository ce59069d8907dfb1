"""Products with a matrix that is packed once and multiplied many times.

For a few rows, torch's product spends much of its time on rearranging the matrix. Here
oneDNN rearranges it once, in advance. It also uses AVX-512 on processors on which MKL,
which computes torch's own products, does not.

torch offers this through operators that `torch.compile` puts into its programs; they
have no public names. So a matrix is packed only if a trial gives the right product.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

MIN_MULTIPLICATIONS = 2**19  # below this the call costs more than it saves
MIN_SIZE = 2**14  # elements of a matrix; smaller ones would need hundreds of rows
N_ROWS = 16  # the layout is chosen for this number of rows, and suits others


def pack(weight: Float[Tensor, "inner outer"]) -> Tensor | None:
    """A copy of a matrix for `affine`, or None where that would not be faster.

    Needs float32 and a torch with oneDNN.

    Examples
    --------
    >>> pack(torch.zeros(2, 3)) is None
    True
    """
    is_large = weight.numel() >= MIN_SIZE
    if weight.dtype != torch.float32 or weight.device.type != "cpu" or not is_large:
        return None
    weight = weight.detach()
    try:
        reorder: Any = torch.ops.mkldnn._reorder_linear_weight
        packed: Tensor = reorder(weight.T, N_ROWS)
        return packed if _is_right(weight, packed) else None
    except (AttributeError, RuntimeError):  # this torch lacks the operators
        return None


def supports(
    x: Float[Tensor, "... inner"], packed: Tensor, bias: Tensor | None
) -> bool:
    """Whether `affine` takes these and is likely faster than torch's own product."""
    return (
        x.ndim == 2
        and x.shape[0] * packed.numel() >= MIN_MULTIPLICATIONS
        and bias is not None
        and bias.shape == (x.shape[0], packed.shape[0])
        and x.dtype == bias.dtype == torch.float32
        and not torch.is_grad_enabled()
    )


def affine(
    x: Float[Tensor, "rows inner"], packed: Tensor, bias: Float[Tensor, "rows outer"]
) -> Float[Tensor, "rows outer"]:
    """X W + B for a packed W; it differs from torch's own product by rounding."""
    product: Any = torch.ops.mkldnn._linear_pointwise.binary
    result: Tensor = product(x, bias, packed, None, "add")
    return result


@torch.no_grad()
def _is_right(weight: Tensor, packed: Tensor) -> bool:
    """Whether a product with the packed matrix is that with the matrix."""
    x = torch.ones(N_ROWS, len(weight))
    bias = torch.arange(N_ROWS * weight.shape[1]).view(N_ROWS, -1) % 7 / 7
    error = (affine(x, packed, bias) - (x @ weight + bias)).abs()
    return bool((error <= 1e-4 * (weight.abs().sum(0) + bias)).all())
