"""Parallel tempering: chains at several temperatures that exchange states."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from crbm import checks, sampling
from crbm.energies import Energy
from crbm.inference import gibbs
from crbm.inference.annealing import independent_units
from crbm.sampling import Source
from crbm.types import Estimate

BISECTIONS = 60


class Swapped(NamedTuple):
    """States at all temperatures after a step, and which pairs changed places."""

    v: Float[Tensor, "temperatures *batch visible"]
    accepted: Bool[Tensor, pairs * batch]


class Tempered(NamedTuple):
    """The state of the coldest chain, and how often neighbours changed places."""

    v: Float[Tensor, "*batch visible"]
    swap_rate: Float[Tensor, " pairs"]


@dataclass(frozen=True)
class Ladder:
    """The energy at several temperatures, from independent units to itself.

    Parameters
    ----------
    energies
        The energy with its couplings scaled by 0, ..., 1.
    """

    energies: tuple[Energy, ...]

    @classmethod
    def of(cls, energy: Energy, n_temperatures: int) -> Ladder:
        """Evenly spaced inverse temperatures; the last is the energy itself."""
        checks.whole_number("n_temperatures", n_temperatures, at_least=1)
        if n_temperatures == 1:
            return cls((energy,))
        betas = [level / (n_temperatures - 1) for level in range(n_temperatures)]
        return cls((*(energy.tempered(beta) for beta in betas[:-1]), energy))

    def step(
        self,
        v: Float[Tensor, "temperatures *batch visible"],
        number: int,
        source: Source,
    ) -> Swapped:
        """A Gibbs sweep at each temperature, then swaps of every other pair.

        Neighbours exchange states with the probability that leaves the product of all
        distributions unchanged.
        """
        levels = zip(self.energies, v, strict=True)
        states = [gibbs.step(energy, own, source).v for energy, own in levels]
        accepted = []
        for low in range(number % 2, len(states) - 1, 2):
            log_ratio = self.gap(low, states[low]) - self.gap(low, states[low + 1])
            swap = sampling.uniform(log_ratio, source).log() < log_ratio
            warm, cold, where = states[low], states[low + 1], swap[..., None]
            states[low] = torch.where(where, cold, warm)
            states[low + 1] = torch.where(where, warm, cold)
            accepted.append(swap)
        return Swapped(torch.stack(states), torch.stack(accepted))

    def gap(self, low: int, v: Float[Tensor, "*batch visible"]) -> Tensor:
        """F at a temperature minus F at the next colder one."""
        return self.energies[low].free_energy(v) - self.energies[low + 1].free_energy(v)


def run(
    energy: Energy,
    v: Float[Tensor, "*batch visible"],
    *,
    n_steps: int = 1,
    n_temperatures: int = 10,
    generator: Generator | None = None,
) -> Tempered:
    """The state after `n_steps` of parallel tempering, all temperatures from `v`.

    Warm chains cross between modes that a Gibbs chain does not leave, and hand their
    states down by swaps. It costs as much as `n_temperatures` Gibbs chains.

    Parameters
    ----------
    energy
        Any energy; known outputs keep their value.
    v
        Where the chains start, one per row.
    n_steps, n_temperatures
        Sweeps, and temperatures, evenly spaced in the strength of the couplings. Where
        `swap_rate` falls below 0.2, take more temperatures.
    generator
        The source of randomness.

    Examples
    --------
    >>> import crbm, torch
    >>> energy = crbm.RBM(n_visible=4, n_hidden=2).condition()
    >>> found = run(energy, torch.zeros(3, 4), n_steps=20, n_temperatures=3)
    >>> found.v.shape, found.swap_rate.shape
    (torch.Size([3, 4]), torch.Size([2]))
    """
    checks.whole_number("n_steps", n_steps, at_least=1)
    checks.whole_number("n_temperatures", n_temperatures, at_least=2)
    checks.columns("v", v, energy.n_visible, "output")
    ladder, source = Ladder.of(energy, n_temperatures), sampling.stream(generator, v)
    states = v.expand(n_temperatures, *v.shape)
    tried, accepted = torch.zeros(n_temperatures - 1), torch.zeros(n_temperatures - 1)
    for number in range(n_steps):
        states, swaps = ladder.step(states, number, source)
        pairs = slice(number % 2, None, 2)
        tried[pairs] += 1
        accepted[pairs] += swaps.flatten(1).float().mean(1).cpu()
    return Tempered(states[-1], accepted / tried.clamp(min=1))


def log_partition(
    energy: Energy,
    *,
    n_chains: int = 20,
    n_steps: int = 500,
    n_warmup: int = 100,
    n_temperatures: int = 20,
    generator: Generator | None = None,
) -> Estimate:
    """An estimate of log Z and its standard error, by parallel tempering.

    Where annealing needs very slow schedules, because modes lie far apart, exchanges
    between temperatures need fewer steps. The ratios of neighbouring temperatures are
    estimated by Bennett's acceptance ratio from the states of both [2]_.

    References
    ----------
    .. [2] C. H. Bennett, "Efficient estimation of free energy differences from Monte
       Carlo data", Journal of Computational Physics 22, 1976.

    Examples
    --------
    >>> import crbm, torch
    >>> energy = crbm.RBM(n_visible=3, n_hidden=2).condition()
    >>> estimate = log_partition(
    ...     energy, n_steps=50, n_temperatures=3,
    ...     generator=torch.Generator().manual_seed(0),
    ... )
    >>> round(estimate.value.item(), 1)  # 5 log 2 where all weights are near zero
    3.5
    """
    checks.whole_number("n_chains", n_chains, at_least=2)
    checks.whole_number("n_steps", n_steps, at_least=1)
    checks.whole_number("n_temperatures", n_temperatures, at_least=2)
    ladder = Ladder.of(energy, n_temperatures)
    log_z, mean = independent_units(ladder.energies[0])
    shape = (n_temperatures, n_chains, *mean.shape)
    v = energy.visible.sample_mean(mean.expand(shape), generator)
    if energy.known is not None:
        v = torch.where(energy.known.isnan(), v, energy.known)
    source, warm, cold = sampling.stream(generator, v[0]), [], []
    for number in range(n_warmup + n_steps):
        v = ladder.step(v, number, source).v
        if number >= n_warmup:
            pairs = range(n_temperatures - 1)
            warm.append(torch.stack([ladder.gap(low, v[low]) for low in pairs]))
            cold.append(torch.stack([ladder.gap(low, v[low + 1]) for low in pairs]))
    gaps = torch.stack(warm), torch.stack(cold)  # (steps, pairs, chains, *batch)
    pooled = log_ratio(*(x.transpose(1, 2).flatten(0, 1) for x in gaps)).sum(0)
    by_chain = log_ratio(*gaps).sum(0)
    return Estimate(log_z + pooled, by_chain.std(0) / math.sqrt(n_chains))


def log_ratio(
    warm: Float[Tensor, "draws ..."], cold: Float[Tensor, "draws ..."]
) -> Float[Tensor, "..."]:
    """Log Z(cold) / Z(warm) from F(warm) - F(cold) at equally many states of both.

    Bennett's estimate r is where the sum of sigmoid(gap - r) over warm states equals
    that of sigmoid(r - gap) over cold ones.
    """
    low = torch.minimum(warm.amin(0), cold.amin(0)) - 1
    high = torch.maximum(warm.amax(0), cold.amax(0)) + 1
    for _ in range(BISECTIONS):
        r = (low + high) / 2
        above = (warm - r).sigmoid().sum(0) > (r - cold).sigmoid().sum(0)
        low, high = torch.where(above, r, low), torch.where(above, high, r)
    return (low + high) / 2
