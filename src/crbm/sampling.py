"""Random samples of units, the only place where random bits are drawn for them.

On the CPU a Bernoulli sample takes 16 random bits, so a 64-bit word serves four units:
about ten times faster than `torch.bernoulli`. Probabilities are rounded to multiples of
2^-16. Double precision, and everything within `exactly()`, takes 32 bits per sample;
other devices use `torch.rand`.

All randomness comes from a torch generator. A long chain takes its bits from a
`Stream`, which the generator seeds and which is discarded at the end of the chain: one
SFC64 (twice as fast as the generator), or 64 of them in parallel where compiled kernels
are available (eight times as fast). The order of the words is that of one thread, so
samples do not depend on the number of threads.
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

# Seeding a stream takes as long as 10,000 samples from the torch generator.
MIN_STREAM_SIZE = 2**14
_INT16_OFFSET = torch.tensor(-(2.0**15) - 0.5, dtype=torch.float32)
_EXACT = ContextVar("exact", default=False)


@contextmanager
def exactly() -> Iterator[None]:
    """Draw samples with 32 random bits within this block, in single precision too.

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
            # NumPy's type stub accepts only its own seed sequences.
            self.words = SFC64(_Seed(generator)).random_raw  # type: ignore[arg-type]


Source = Generator | Stream | None


def stream(generator: Generator | None, like: Tensor) -> Source:
    """The faster source of bits for a chain of states shaped as `like`."""
    faster = like.device.type == "cpu" and like.numel() >= MIN_STREAM_SIZE
    return Stream(generator) if faster else generator


def bernoulli(
    probabilities: Float[Tensor, "*shape"], generator: Source = None
) -> Float[Tensor, "*shape"]:
    """Independent samples that are 1 with the given probabilities.

    Probabilities 0 and 1 are exact, so clamped units keep their values.
    """
    return _sample_(probabilities.detach().clone(), generator)


def from_logits(
    logits: Float[Tensor, "*shape"], generator: Source = None
) -> Float[Tensor, "*shape"]:
    """Independent samples that are 1 with the given log-odds."""
    return from_logits_(logits.clone(), generator)


def from_logits_(
    logits: Float[Tensor, "*shape"], generator: Source = None
) -> Float[Tensor, "*shape"]:
    """`from_logits` that overwrites the log-odds with the samples."""
    logits = logits.detach()
    if _sixteen_bits(logits) and kernels.supports(logits):
        return _bernoulli_(logits, generator, logits=True)
    return _sample_(logits.sigmoid_(), generator)


def fair_coins(
    like: Float[Tensor, "*shape"], generator: Source = None
) -> Float[Tensor, "*shape"]:
    """Samples that are 1 with probability 1/2, shaped as `like`."""
    return _sample_(torch.full_like(like.detach(), 0.5), generator)


def categorical(
    probabilities: Float[Tensor, "*shape values"], generator: Source = None
) -> Float[Tensor, "*shape values"]:
    """Independent one-hot samples whose values have the given probabilities.

    A value of probability 0 is never drawn, so clamped units keep their values.

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


def _sample_(p: Tensor, source: Source) -> Tensor:
    """Overwrite probabilities with samples."""
    if p.device.type != "cpu":
        assert not isinstance(source, Stream)
        uniform = torch.empty_like(p).uniform_(generator=source)
        return torch.lt(uniform, p, out=p)
    if _sixteen_bits(p):
        if kernels.supports(p):
            return _bernoulli_(p, source)
        thresholds = torch.add(_INT16_OFFSET, p, alpha=2.0**16, out=p)
        return torch.lt(_bits(p, torch.int16, source), thresholds, out=p)
    thresholds = p.double().mul_(2.0**32).sub_(2.0**31)
    return torch.lt(_bits(p, torch.int32, source), thresholds, out=p)


def _bernoulli_(x: Tensor, source: Source, *, logits: bool = False) -> Tensor:
    """Overwrite x, which compiled kernels support, with samples."""
    if isinstance(source, Stream) and source.lanes is not None:
        return source.lanes.bernoulli_(x, logits=logits)
    return kernels.bernoulli_(x, _bits(x, torch.int16, source), logits=logits)


def _sixteen_bits(p: Tensor) -> bool:
    """Whether each sample takes 16 bits instead of 32."""
    return p.dtype == torch.float32 and p.device.type == "cpu" and not _EXACT.get()


def _bits(like: Tensor, dtype: torch.dtype, source: Source) -> Tensor:
    """Uniform signed integers, one per element, cut from 64-bit words."""
    words = _words(-(-like.numel() * dtype.itemsize // 8), source)
    return words.view(dtype)[: like.numel()].view(like.shape)


def _words(n_words: int, source: Source) -> Tensor:
    """Random words of 64 bits."""
    if isinstance(source, Stream):
        words = torch.from_numpy(source.words(n_words))
        # An empty array gives stride 0, which cannot be viewed as another dtype.
        return words if n_words else torch.empty(0, dtype=torch.int64)
    words = torch.empty(n_words, dtype=torch.int64)
    return words.random_(-(2**63), None, generator=source)


class _Seed(ISeedSequence):
    """Seeds a bit generator of NumPy with words from a torch generator."""

    def __init__(self, generator: Generator | None) -> None:
        self.generator = generator

    def generate_state(
        self, n_words: int, dtype: DTypeLike = np.uint32
    ) -> NDArray[np.unsignedinteger]:
        return _words(n_words, self.generator).numpy().view(dtype)[:n_words]
