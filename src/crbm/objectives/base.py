"""What the training loop asks of a learning rule."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Generator, Tensor

from crbm.energies import Energy
from crbm.inference import gibbs, search
from crbm.types import Batch, Contrast


@runtime_checkable
class Objective(Protocol):
    """A rule that names states: those to lower F at, and those to raise it at."""

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        """The states of one update; the model turns them into a gradient."""
        ...


PRECISIONS = ("full", "bf16")


def for_chain(energy: Energy, precision: str) -> Energy:
    """The energy that a chain runs on, its products in the precision asked for."""
    return energy if precision == "full" else energy.lowered()


def drawn(
    energy: Energy,
    v: Float[Tensor, "batch visible"],
    n_steps: int,
    generator: Generator | None,
) -> Float[Tensor, "batch visible"]:
    """The outputs with unknown ones (NaN) drawn by a chain clamped at the others."""
    if not math.isnan(v.sum()):
        return v
    clamped = energy.expand(len(v)).clamp(v)
    start = clamped.start(generator)
    return gibbs.run(clamped, start, n_steps=n_steps, generator=generator).v


def found(
    energy: Energy,
    v: Float[Tensor, "batch visible"],
    n_steps: int,
    generator: Generator | None,
) -> Float[Tensor, "batch visible"]:
    """The outputs with unknown ones (NaN) as a search clamped at the others finds."""
    if not math.isnan(v.sum()):
        return v
    clamped = energy.expand(len(v)).clamp(v)
    return search.gibbs(clamped, n_steps=n_steps, generator=generator).v
