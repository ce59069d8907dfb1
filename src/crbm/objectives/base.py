"""The interface of objectives, and functions that they share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from crbm.energies import Energy
from crbm.inference import gibbs
from crbm.types import Batch, ChainState, Contrast, Found


@runtime_checkable
class Objective(Protocol):
    """Names states: those to lower F at, and those to raise it at."""

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        """The states of one update; energy and model turn them into a gradient."""
        ...


@runtime_checkable
class PerRun(Protocol):
    """An objective that has a separate state for each run."""

    def start(self) -> Objective:
        """The objective with a fresh state, for one run."""
        ...


def start(objective: Objective) -> Objective:
    """The objective for one run; stateless ones as they are."""
    return objective.start() if isinstance(objective, PerRun) else objective


def added_later(default: Any) -> Any:
    """A parameter that earlier versions did not have.

    Runs with its default continue the checkpoints of earlier versions.
    """
    return field(default=default, metadata={"added_later": True})


PRECISIONS = ("full", "bf16")


def for_chain(energy: Energy, precision: str) -> Energy:
    """The energy for a chain, with products in the given precision."""
    return energy if precision == "full" else energy.in_precision(torch.bfloat16)


def impute(
    energy: Energy,
    v: Float[Tensor, "batch visible"],
    by: Callable[[Energy], ChainState | Found],
) -> Float[Tensor, "batch visible"]:
    """The outputs with unknown ones (NaN) filled in, given the known ones.

    Parameters
    ----------
    energy
        The distribution to fill them in from.
    v
        Outputs; where all are known, they are returned as they are.
    by
        How to choose a state of the clamped energy, e.g. `partial(sample, ...)`.
    """
    if not math.isnan(v.sum()):
        return v
    return by(energy.expand(len(v)).clamp(v)).v


def sample(energy: Energy, *, n_steps: int, generator: Generator | None) -> ChainState:
    """The end of a Gibbs chain from the energy's start."""
    start = energy.start(generator)
    return gibbs.run(energy, start, n_steps=n_steps, generator=generator)
