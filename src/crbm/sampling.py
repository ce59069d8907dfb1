"""The one place where random bits become Bernoulli samples.

On the CPU a sample costs 16 random bits: an int64 from the generator serves four units,
about ten times faster than `torch.bernoulli`. A probability is then rounded up to a
multiple of 2^-16. Double precision, and everything within `exactly()`, takes 32 bits
per sample; other devices take `torch.rand`. The generator fills bits one after another
in one thread, so samples do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from jaxtyping import Float
from torch import Generator, Tensor

_LOWEST_INT16 = torch.tensor(-(2.0**15))
_EXACT = ContextVar("exact", default=False)


@contextmanager
def exactly() -> Iterator[None]:
    """Take 32 random bits per sample within this block, in single precision too.

    Examples
    --------
    >>> with exactly():
    ...     bernoulli(torch.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """
    token = _EXACT.set(True)
    try:
        yield
    finally:
        _EXACT.reset(token)


def bernoulli(
    probabilities: Float[Tensor, "*shape"], generator: Generator | None = None
) -> Float[Tensor, "*shape"]:
    """Independent samples that are 1 with the given probabilities.

    Probabilities 0 and 1 are certain, so clamped units stay where they are.
    """
    return _consume(probabilities.detach().clone(), generator)


def from_logits(
    logits: Float[Tensor, "*shape"], generator: Generator | None = None
) -> Float[Tensor, "*shape"]:
    """Independent samples that are 1 with the given log-odds."""
    return _consume(logits.detach().sigmoid(), generator)


def fair_coins(
    like: Float[Tensor, "*shape"], generator: Generator | None = None
) -> Float[Tensor, "*shape"]:
    """Samples that are 1 with probability a half, in the shape of `like`."""
    return _consume(torch.full_like(like.detach(), 0.5), generator)


def _consume(p: Tensor, generator: Generator | None) -> Tensor:
    """Turn a tensor of probabilities, ours to overwrite, into samples."""
    if p.device.type != "cpu":
        uniform = torch.empty_like(p).uniform_(generator=generator)
        return torch.lt(uniform, p, out=p)
    if p.dtype == torch.float32 and not _EXACT.get():
        thresholds = torch.add(_LOWEST_INT16, p, alpha=2.0**16, out=p)
        return torch.lt(_bits(p, torch.int16, generator), thresholds, out=p)
    thresholds = p.double().mul_(2.0**32).sub_(2.0**31)
    return torch.lt(_bits(p, torch.int32, generator), thresholds, out=p)


def _bits(like: Tensor, dtype: torch.dtype, generator: Generator | None) -> Tensor:
    """Uniform signed integers, packed into as few int64 draws as they fit."""
    per_draw = 8 // dtype.itemsize
    draws = torch.empty(-(-like.numel() // per_draw), dtype=torch.int64)
    draws.random_(-(2**63), None, generator=generator)
    return draws.view(dtype)[: like.numel()].view(like.shape)
