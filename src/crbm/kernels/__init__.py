"""Loops over units in one pass, where torch would make several.

They are compiled by Numba, if it is installed (`pip install crbm[fast]`), for single
precision on the CPU. Everything else is left to torch's own operations, which give the
same up to rounding. A loop runs on one thread, however many torch has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int16
from torch import Tensor
from torch.nn.functional import softplus

# Smaller tensors are done before a call of a loop has found out what it was given.
WORTH_CALLING = 2**10
_WANTED = ContextVar("wanted", default=True)


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


def serve(x: Tensor) -> bool:
    """Whether the loops can work in the memory of such a tensor."""
    return (
        _WANTED.get()
        and x.dtype == torch.float32
        and x.device.type == "cpu"
        and not x.requires_grad
        and x.numel() >= WORTH_CALLING
        and x.is_contiguous()
        and _loops() is not None
    )


def below_(
    x: Float[Tensor, "*shape"], bits: Int16[Tensor, "*shape"], *, logits: bool = False
) -> Float[Tensor, "*shape"]:
    """1 where 16 random bits lie below x, in its memory; below sigmoid(x) of logits.

    For tensors that the loops serve.
    """
    loop = _loops().below_sigmoid if logits else _loops().below
    loop(x.view(-1).numpy(), bits.view(-1).numpy())
    return x


def dots(
    x: Float[Tensor, "... units"], y: Float[Tensor, "... units"]
) -> Float[Tensor, ...]:
    """The inner products along the last dimension, of shapes that broadcast.

    For tensors of any kind. A table as large as x and y is not made where the loops
    serve them: fresh memory costs more than arithmetic.
    """
    if x.shape == y.shape and x.ndim == 2 and serve(x) and serve(y):
        total = x.new_empty(len(x))
        _loops().dots(x.numpy(), y.numpy(), total.numpy())
        return total
    return x @ y if y.ndim == 1 else (x * y).sum(-1)


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
    total = logits.new_empty(logits.shape[:-1])
    rows = logits.view(-1, logits.shape[-1])
    _loops().softplus_and_means(rows.numpy(), total.view(-1).numpy())
    return total, logits


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
