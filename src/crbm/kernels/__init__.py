"""Loops over units in one pass, where torch would make several.

They are compiled by Numba, if it is installed (`pip install crbm[fast]`), for single
precision on the CPU. Everything else is left to torch's own operations, which give the
same up to rounding. A loop runs on one thread, however many torch has.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

import torch
from jaxtyping import Float, Int16
from torch import Tensor
from torch.nn.functional import softplus

# Smaller tensors are done before a call of a loop has found out what it was given.
WORTH_CALLING = 2**10


def serve(x: Tensor) -> bool:
    """Whether the loops can work in the memory of such a tensor."""
    return (
        x.dtype == torch.float32
        and x.device.type == "cpu"
        and not x.requires_grad
        and x.numel() >= WORTH_CALLING
        and x.is_contiguous()
        and _loops() is not None
    )


def below_(
    logits: Float[Tensor, "*shape"], bits: Int16[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """1 where 16 random bits lie below sigmoid(x), in the memory of x.

    For tensors that the loops serve.
    """
    loops = _loops()
    assert loops is not None
    loops.below(logits.view(-1).numpy(), bits.view(-1).numpy())
    return logits


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
    loops = _loops() if serve(logits) else None
    if loops is None:
        return softplus(logits).sum(-1), logits.sigmoid()
    total = logits.new_empty(logits.shape[:-1])
    rows = logits.view(-1, logits.shape[-1])
    loops.softplus_and_means(rows.numpy(), total.view(-1).numpy())
    return total, logits


@cache
def _loops() -> ModuleType | None:
    """The compiled loops, or None where Numba is missing or cannot work here.

    It may be at odds with the NumPy of the day, or find no folder to keep what it has
    compiled in. Its import takes most of a second, so it waits for the first use.
    """
    try:
        from crbm.kernels import loops
    except (ImportError, RuntimeError):
        return None
    return loops
