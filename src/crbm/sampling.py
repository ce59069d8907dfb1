"""The one place where random bits become Bernoulli samples."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor


def bernoulli(
    probabilities: Float[Tensor, "*shape"], generator: Generator | None = None
) -> Float[Tensor, "*shape"]:
    """Independent samples that are 1 with the given probabilities.

    Probabilities 0 and 1 are certain, so clamped units stay where they are.
    """
    uniform = torch.empty_like(probabilities).uniform_(generator=generator)
    return (uniform < probabilities).to(probabilities.dtype)


def fair_coins(
    like: Float[Tensor, "*shape"], generator: Generator | None = None
) -> Float[Tensor, "*shape"]:
    """Samples that are 1 with probability a half, in the shape of `like`."""
    return bernoulli(torch.full_like(like, 0.5), generator)
