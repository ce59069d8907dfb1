"""The one place where random bits become Bernoulli samples.

On the CPU a sample costs 16 random bits, so a 64-bit word serves four units: about ten
times faster than `torch.bernoulli`. A probability is then rounded to a multiple of
2^-16. Double precision, and everything within `exactly()`, takes 32 bits per sample;
other devices take `torch.rand`.

The torch generator is the only source of randomness. A chain that draws much takes its
bits from a `Stream`: SFC64, twice as fast, or where the loops of `kernels` serve 64 of
them in step, eight times as fast; seeded by the generator and dropped at the end of the
chain. All fill words one after another in one thread, so samples do not depend on the
number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.random import SFC64
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import DTypeLike, NDArray
from torch import Generator, Tensor

from crbm import kernels

# Seeding a stream takes as long as the torch generator takes for some 10,000 samples.
WORTH_SEEDING = 2**14
_BELOW_INT16 = torch.tensor(-(2.0**15) - 0.5)
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


class Stream:
    """Random words for one chain, seeded by a torch generator."""

    words: Callable[[int], NDArray[np.uint64]]
    lanes: kernels.Lanes | None = None

    def __init__(self, generator: Generator | None) -> None:
        if kernels.available():
            seeds = _words(kernels.Lanes.N_SEEDS, generator)
            self.lanes = kernels.Lanes(seeds.numpy())
            self.words = self.lanes.words
        else:
            # NumPy's stub knows only its own seed sequence.
            self.words = SFC64(_Seed(generator)).random_raw  # type: ignore[arg-type]


Source = Generator | Stream | None


def stream(generator: Generator | None, like: Tensor) -> Source:
    """The fastest source for a chain of such states: a stream where it pays."""
    pays = like.device.type == "cpu" and like.numel() >= WORTH_SEEDING
    return Stream(generator) if pays else generator


def bernoulli(
    probabilities: Float[Tensor, "*shape"], generator: Source = None
) -> Float[Tensor, "*shape"]:
    """Independent samples that are 1 with the given probabilities.

    Probabilities 0 and 1 are certain, so clamped units stay where they are.
    """
    return _consume(probabilities.detach().clone(), generator)


def from_logits(
    logits: Float[Tensor, "*shape"], generator: Source = None
) -> Float[Tensor, "*shape"]:
    """Independent samples that are 1 with the given log-odds."""
    return from_logits_(logits.clone(), generator)


def from_logits_(
    logits: Float[Tensor, "*shape"], generator: Source = None
) -> Float[Tensor, "*shape"]:
    """`from_logits` in the memory of the log-odds, which are lost."""
    logits = logits.detach()
    if _sixteen_bits(logits) and kernels.supports(logits):
        return _bernoulli_(logits, generator, logits=True)
    return _consume(logits.sigmoid_(), generator)


def fair_coins(
    like: Float[Tensor, "*shape"], generator: Source = None
) -> Float[Tensor, "*shape"]:
    """Samples that are 1 with probability a half, in the shape of `like`."""
    return _consume(torch.full_like(like.detach(), 0.5), generator)


def categorical(
    probabilities: Float[Tensor, "*shape values"], generator: Source = None
) -> Float[Tensor, "*shape values"]:
    """Independent one-hot samples whose values have the given probabilities.

    A value of probability 0 is never drawn, so clamped units stay where they are.

    Examples
    --------
    >>> categorical(torch.tensor([[0.0, 1.0, 0.0]]))
    tensor([[0., 1., 0.]])
    """
    above = probabilities.detach().cumsum(-1)
    level = uniform(above[..., :1], generator) * above[..., -1:]
    value = (above <= level).sum(-1, keepdim=True)
    return torch.zeros_like(above).scatter_(-1, value, 1)


def normal(
    like: Float[Tensor, "*shape"], generator: Source = None
) -> Float[Tensor, "*shape"]:
    """Independent samples of the standard normal distribution, shaped as `like`."""
    if not isinstance(generator, Stream):
        return torch.empty_like(like).normal_(generator=generator)
    # Box and Muller: two uniform numbers give the radius and the angle.
    radius = (-2 * torch.log1p(-uniform(like, generator))).sqrt()
    return radius * torch.cos(2 * torch.pi * uniform(like, generator))


def uniform(
    like: Float[Tensor, "*shape"], generator: Source = None
) -> Float[Tensor, "*shape"]:
    """Independent samples of [0, 1), shaped as `like`."""
    if not isinstance(generator, Stream):
        return torch.empty_like(like).uniform_(generator=generator)
    words = _words(like.numel(), generator).view(torch.int64) >> 11 & (2**53 - 1)
    # Rounding 53 bits to single precision could give 1; 24 bits cannot.
    if like.dtype == torch.float32:
        return (words >> 29).to(like.dtype).mul_(2.0**-24).view(like.shape)
    return words.to(like.dtype).mul_(2.0**-53).view(like.shape)


def _consume(p: Tensor, source: Source) -> Tensor:
    """Turn a tensor of probabilities, ours to overwrite, into samples."""
    if p.device.type != "cpu":
        assert not isinstance(source, Stream)
        uniform = torch.empty_like(p).uniform_(generator=source)
        return torch.lt(uniform, p, out=p)
    if _sixteen_bits(p):
        if kernels.supports(p):
            return _bernoulli_(p, source)
        thresholds = torch.add(_BELOW_INT16, p, alpha=2.0**16, out=p)
        return torch.lt(_bits(p, torch.int16, source), thresholds, out=p)
    thresholds = p.double().mul_(2.0**32).sub_(2.0**31)
    return torch.lt(_bits(p, torch.int32, source), thresholds, out=p)


def _bernoulli_(x: Tensor, source: Source, *, logits: bool = False) -> Tensor:
    """Samples in the memory of x, which the loops serve."""
    if isinstance(source, Stream) and source.lanes is not None:
        return source.lanes.bernoulli_(x, logits=logits)
    return kernels.bernoulli_(x, _bits(x, torch.int16, source), logits=logits)


def _sixteen_bits(p: Tensor) -> bool:
    """Whether samples of such probabilities take 16 bits each."""
    return p.dtype == torch.float32 and p.device.type == "cpu" and not _EXACT.get()


def _bits(like: Tensor, dtype: torch.dtype, source: Source) -> Tensor:
    """Uniform signed integers, one per element, packed into words of 64 bits."""
    words = _words(-(-like.numel() * dtype.itemsize // 8), source)
    return words.view(dtype)[: like.numel()].view(like.shape)


def _words(n_words: int, source: Source) -> Tensor:
    if isinstance(source, Stream):
        return torch.from_numpy(source.words(n_words))
    words = torch.empty(n_words, dtype=torch.int64)
    return words.random_(-(2**63), None, generator=source)


class _Seed(ISeedSequence):
    """Hands words of a torch generator to a bit generator of NumPy as its seed."""

    def __init__(self, generator: Generator | None) -> None:
        self.generator = generator

    def generate_state(
        self, n_words: int, dtype: DTypeLike = np.uint32
    ) -> NDArray[np.unsignedinteger]:
        return _words(n_words, self.generator).numpy().view(dtype)[:n_words]
