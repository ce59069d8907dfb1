"""Annealed importance sampling: log Z of models too large to enumerate."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from crbm import checks, sampling
from crbm.energies import Energy
from crbm.inference import gibbs
from crbm.types import Estimate


def log_partition(
    energy: Energy,
    *,
    n_chains: int = 100,
    n_steps: int = 1000,
    generator: Generator | None = None,
) -> Estimate:
    """An estimate of log Z and its standard error.

    Chains start at independent units, whose log Z is known, and the couplings are
    turned on in `n_steps` steps with a Gibbs sweep at each. The error bar is that of
    the mean importance weight, carried over to its log; it is honest only while the
    chains keep up, so raise `n_steps` until it stays small.

    Notes
    -----
    Neal (2001), "Annealed importance sampling"; for RBMs Salakhutdinov and Murray
    (2008), "On the quantitative analysis of deep belief networks".

    Examples
    --------
    >>> import crbm, torch
    >>> energy = crbm.RBM(n_visible=3, n_hidden=2).condition()
    >>> estimate = log_partition(energy, generator=torch.Generator().manual_seed(0))
    >>> round(estimate.value.item(), 1)  # 5 log 2 where all weights are near zero
    3.5
    """
    checks.whole_number("n_chains", n_chains, at_least=2)
    checks.whole_number("n_steps", n_steps, at_least=1)
    independent = energy.tempered(0.0)
    log_z, mean = independent_units(independent)
    v = energy.visible.sample_mean(mean.expand(n_chains, *mean.shape), generator)
    v = (
        v
        if energy.known is None
        else torch.where(energy.known.isnan(), v, energy.known)
    )
    log_weight = v.new_zeros(v.shape[:-1])
    before, source = independent, sampling.stream(generator, v)
    for step in range(1, n_steps + 1):
        now = energy.tempered(step / n_steps)
        log_weight += before.free_energy(v) - now.free_energy(v)
        v = gibbs.step(now, v, source).v
        before = now
    return _estimate(log_z, log_weight)


def independent_units(energy: Energy) -> tuple[Tensor, Tensor]:
    """Log Z and the means of outputs that are not coupled."""
    field, units = energy.independent_field(), energy.visible
    # F(v) = constant - v . field - log_base(v): one state gives the constant.
    zeros = torch.zeros_like(field)
    constant = energy.free_energy(zeros) + units.log_base(zeros)
    log_z = units.log_partition(field, energy.known) - constant
    return log_z, units.mean(field, energy.known)


def _estimate(
    log_z: Float[Tensor, "*batch"], log_weight: Float[Tensor, chains * batch]
) -> Estimate:
    n_chains = len(log_weight)
    log_mean = log_weight.logsumexp(0) - math.log(n_chains)
    spread = torch.exp(log_weight - log_mean).std(0)
    return Estimate(log_z + log_mean, spread / math.sqrt(n_chains))
