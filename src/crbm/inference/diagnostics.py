"""Whether chains can be trusted: R-hat and effective sample size."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from scipy.stats import rankdata
from torch import Generator, Tensor

from crbm import checks, sampling
from crbm.energies import Energy
from crbm.inference import gibbs, tempering

Draws = Float[Tensor, "chains draws ..."]
LEAST_DRAWS = 4  # two per half of a chain


class Trace(NamedTuple):
    """The states that several chains visited, and their free energy.

    Parameters
    ----------
    v
        Outputs, (chains, draws, *batch, visible).
    free_energy
        F of each state, (chains, draws, *batch).
    """

    v: Float[Tensor, "chains draws ..."]
    free_energy: Float[Tensor, "chains draws ..."]


def trace(
    energy: Energy,
    *,
    n_chains: int = 4,
    n_steps: int = 500,
    n_warmup: int = 100,
    n_temperatures: int = 1,
    generator: Generator | None = None,
) -> Trace:
    """The states of independent chains after a warm-up.

    The chains start at samples of units without any field, so that they are far apart
    where the distribution has several modes; R-hat then shows whether they have met.

    Parameters
    ----------
    energy
        Any energy; known outputs keep their value.
    n_chains, n_steps, n_warmup
        Chains, steps of each that are kept, and steps before that are not.
    n_temperatures
        Above 1, parallel tempering with so many temperatures.
    generator
        The source of randomness.

    Examples
    --------
    >>> import crbm, torch
    >>> energy = crbm.RBM(n_visible=3, n_hidden=2).condition()
    >>> chains = trace(energy, n_steps=200, generator=torch.Generator().manual_seed(0))
    >>> bool((r_hat(chains.v) < 1.05).all())
    True
    """
    checks.whole_number("n_chains", n_chains, at_least=1)
    checks.whole_number("n_steps", n_steps, at_least=LEAST_DRAWS)
    checks.whole_number("n_warmup", n_warmup, at_least=0)
    ladder = tempering.Ladder.of(energy, n_temperatures)
    field = torch.zeros_like(energy.independent_field())
    shape = (n_temperatures, n_chains, *field.shape)
    v = energy.visible.sample(field.expand(shape), generator, energy.known)
    source, states = sampling.stream(generator, v[0]), []
    for step in range(n_warmup + n_steps):
        if n_temperatures == 1:
            v = gibbs.step(energy, v[0], source).v[None]
        else:
            v = ladder.step(v, step, source).v
        if step >= n_warmup:
            states.append(v[-1])
    stacked = torch.stack(states, 1)
    return Trace(stacked, energy.free_energy(stacked))


def r_hat(draws: Draws) -> Float[Tensor, "..."]:
    """Rank-normalised split R-hat of each quantity: near 1 where chains agree.

    The larger of that of the values and that of their distances from the median. Below
    1.01 the chains can be trusted. NaN where a quantity never changes.

    Parameters
    ----------
    draws
        Any numbers of (chains, draws, ...), e.g. `trace(energy).v`.

    References
    ----------
    .. [2] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Burkner,
       "Rank-normalization, folding, and localization: an improved R-hat", Bayesian
       Analysis 16, 2021.

    Examples
    --------
    >>> apart = torch.stack([torch.zeros(100), torch.ones(100)]).double()
    >>> apart = apart + torch.linspace(0, 0.1, 100)
    >>> bool(r_hat(apart) > 1.5)
    True
    """
    flat = _flatten(draws)
    middle = flat.flatten(0, 1).median(0).values
    values = [_split_r_hat(_rank_normalise(x)) for x in (flat, (flat - middle).abs())]
    # Distances from the median are constant for fair coins; the values still count.
    larger = torch.stack([torch.where(x.isnan(), -1, x) for x in values]).amax(0)
    return torch.where(larger > 0, larger, torch.nan).reshape(draws.shape[2:])


def effective_sample_size(draws: Draws) -> Float[Tensor, "..."]:
    """The number of independent draws that estimate the mean of each quantity as well.

    Of rank-normalised values of split chains, with Geyer's initial monotone sequence
    [2]_; 100 per chain are usually enough. NaN where a quantity never changes.

    Parameters
    ----------
    draws
        Any numbers of (chains, draws, ...), e.g. `trace(energy).v`.

    References
    ----------
    .. [2] A. Vehtari et al., "Rank-normalization, folding, and localization: an
       improved R-hat", Bayesian Analysis 16, 2021.

    Examples
    --------
    >>> independent = torch.rand(4, 250, generator=torch.Generator().manual_seed(0))
    >>> bool(effective_sample_size(independent) > 700)
    True
    """
    x = _split(_rank_normalise(_flatten(draws)))
    n_chains, n_draws = x.shape[:2]
    covariance = _autocovariance(x).mean(0)
    within = covariance[0] * n_draws / (n_draws - 1)
    total = within * (n_draws - 1) / n_draws + x.mean(1).var(0)
    rho = 1 - (within - covariance * n_draws / (n_draws - 1)) / total
    rho[0] = 1
    pairs = rho[: n_draws // 2 * 2].unflatten(0, (-1, 2)).sum(1)
    positive = (pairs > 0).to(pairs).cumprod(0)
    monotone = (pairs * positive).cummin(0).values
    tau = 2 * monotone.sum(0) - 1
    n_total = n_chains * n_draws
    size = n_total / tau.clamp(min=1 / math.log10(n_total))
    return torch.where(total > 0, size, torch.nan).reshape(draws.shape[2:])


def _flatten(draws: Draws) -> Float[Tensor, "chains draws quantities"]:
    if draws.ndim < 2 or draws.shape[1] < LEAST_DRAWS:
        raise ValueError(
            f"`draws` must have shape (chains, draws, ...) with at least {LEAST_DRAWS} "
            f"draws; got {tuple(draws.shape)}."
        )
    return draws.double().reshape(*draws.shape[:2], -1)


def _split(x: Tensor) -> Tensor:
    """Each chain as two; of an odd number of draws the middle one is left out."""
    half = x.shape[1] // 2
    return torch.cat([x[:, :half], x[:, -half:]])


def _rank_normalise(x: Tensor) -> Tensor:
    """Normal quantiles of the ranks over all chains."""
    rows = x.flatten(0, 1)
    ranks = torch.as_tensor(rankdata(rows.cpu().numpy(), axis=0)).to(rows)
    return torch.special.ndtri((ranks - 3 / 8) / (len(rows) + 1 / 4)).reshape(x.shape)


def _split_r_hat(x: Tensor) -> Tensor:
    x = _split(x)
    n_draws = x.shape[1]
    within, between = x.var(1).mean(0), x.mean(1).var(0)
    return ((within * (n_draws - 1) / n_draws + between) / within).sqrt()


def _autocovariance(x: Tensor) -> Tensor:
    """(chains, lags, quantities), each lag divided by the number of draws."""
    n_draws = x.shape[1]
    centred = x - x.mean(1, keepdim=True)
    spectrum = torch.fft.rfft(centred, n=2 * n_draws, dim=1)
    power = spectrum.real.square() + spectrum.imag.square()
    return torch.fft.irfft(power, n=2 * n_draws, dim=1)[:, :n_draws] / n_draws
