"""The search for a likely output: the lowest free energy met on a short walk."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from crbm import checks, kernels, sampling
from crbm.energies import Energy
from crbm.inference import gibbs as gibbs_chain, mean_field as means
from crbm.types import Evaluated, Found


def gibbs(
    energy: Energy, *, n_steps: int = 10, generator: Generator | None = None
) -> Found:
    """The best of `n_steps` Gibbs states: the stochastic search of training.

    The walk starts at the means given the input alone, or at random outputs when the
    input has no direct connections to them; the start itself is not among the states
    compared [1]_, Section 6.2.

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

    The states are means; round those of binary outputs for a prediction. Without
    direct connections from the input the search starts at the means of units without
    any field, so that it is deterministic.
    """
    checks.whole_number("n_steps", n_steps, at_least=1)
    best = lowest(chain_states(energy, energy.start(), n_steps, means.step))
    return Found(best.v, best.free_energy)


def walk(
    energy: Energy,
    v: Float[Tensor, "*batch visible"],
    n_steps: int,
    generator: Generator | None,
) -> Iterator[Evaluated]:
    """The states of a Gibbs chain after `v`."""
    source = sampling.stream(generator, v)

    def step(energy: Energy, v: Tensor, cache: Tensor | None) -> Tensor:
        return gibbs_chain.step(energy, v, source, cache).v

    return chain_states(energy, v, n_steps, step)


def chain_states(
    energy: Energy,
    v: Float[Tensor, "*batch visible"],
    n_steps: int,
    step: Callable[[Energy, Tensor, Tensor | None], Tensor],
) -> Iterator[Evaluated]:
    """The states that `n_steps` steps from `v` lead to, each evaluated just once."""
    cache = None
    for _ in range(n_steps):
        v = step(energy, v, cache)
        state = energy.evaluate(v)
        cache = state.cache
        yield state


def lowest(states: Iterator[Evaluated]) -> Evaluated:
    """The state of lowest free energy for each case; the earliest among equals."""
    v, lowest, cache = next(states)
    v, cache = v.clone(), None if cache is None else cache.clone()
    for state in states:
        better = state.free_energy < lowest
        lowest = torch.where(better, state.free_energy, lowest)
        kernels.copy_rows_(v, state.v, better)
        if cache is not None and state.cache is not None:
            kernels.copy_rows_(cache, state.cache, better)
    return Evaluated(v, lowest, cache)
