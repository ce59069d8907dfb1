"""The search for a likely output: the lowest free energy met on a short walk."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from crbm import checks, kernels, sampling
from crbm.energies import Energy
from crbm.inference import gibbs as gibbs_chain
from crbm.inference import mean_field as means
from crbm.types import Evaluated, Found


def gibbs(
    energy: Energy, *, n_steps: int = 10, generator: Generator | None = None
) -> Found:
    """The best of `n_steps` Gibbs states: the stochastic search of training.

    The walk starts at the logistic-regression part of the model, or at fair coins when
    no input drives the outputs; the start itself is not among the states compared
    [1]_, Section 6.2.

    Examples
    --------
    >>> import crbm, torch
    >>> energy = crbm.CRBM(4, 3, 2).condition(torch.ones(5, 4))
    >>> found = gibbs(energy, n_steps=10, generator=torch.Generator().manual_seed(0))
    >>> bool((found.free_energy == energy.free_energy(found.v)).all())
    True
    """
    checks.whole_number("n_steps", n_steps, at_least=1)
    best = lowest(walk(energy, energy.start(generator), n_steps, generator))
    return Found(best.v, best.free_energy)


def mean_field(energy: Energy, *, n_steps: int = 10) -> Found:
    """The best of `n_steps` mean-field states: the same search at test time.

    The states are means in [0, 1]; round them for a prediction. Without an input that
    drives the outputs the search starts at their mean of a half, so that it repeats.
    """
    checks.whole_number("n_steps", n_steps, at_least=1)
    best = lowest(visited(energy, energy.start(), n_steps, means.step))
    return Found(best.v, best.free_energy)


def walk(
    energy: Energy,
    v: Float[Tensor, "*batch visible"],
    n_steps: int,
    generator: Generator | None,
) -> Iterator[Evaluated]:
    """The states of a Gibbs chain after `v`."""
    source = sampling.stream(generator, v)

    def step(energy: Energy, v: Tensor, means: Tensor | None) -> Tensor:
        return gibbs_chain.step(energy, v, source, means).v

    return visited(energy, v, n_steps, step)


def visited(
    energy: Energy,
    v: Float[Tensor, "*batch visible"],
    n_steps: int,
    step: Callable[[Energy, Tensor, Tensor | None], Tensor],
) -> Iterator[Evaluated]:
    """The states that `n_steps` steps from `v` lead to, each evaluated just once."""
    means = None
    for _ in range(n_steps):
        v = step(energy, v, means)
        state = energy.evaluate(v)
        means = state.hidden_means
        yield state


def lowest(states: Iterator[Evaluated]) -> Evaluated:
    """The state of lowest free energy for each case; the earliest among equals."""
    v, lowest, means = next(states)
    v, means = v.clone(), None if means is None else means.clone()
    for state in states:
        better = state.free_energy < lowest
        lowest = torch.where(better, state.free_energy, lowest)
        kernels.copy_rows_(v, state.v, better)
        if means is not None and state.hidden_means is not None:
            kernels.copy_rows_(means, state.hidden_means, better)
    return Evaluated(v, lowest, means)
