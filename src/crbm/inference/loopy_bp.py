"""Loopy belief propagation with damping: sums over neighbours as if on a tree."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from crbm import checks
from crbm.energies import (
    BipartiteEnergy,
    Energy,
    PairwiseEnergy,
    is_bipartite,
    is_pairwise,
)
from crbm.kernels import beliefs as kernels
from crbm.types import Marginals, Moments
from crbm.units import BERNOULLI


def run(energy: Energy, *, n_steps: int = 50, damping: float = 0.3) -> Marginals:
    """Beliefs about each output after `n_steps` rounds of messages.

    Exact on a tree (one hidden unit, or couplings without a loop).

    Parameters
    ----------
    energy
        Bipartite or pairwise, with binary units; known outputs keep their value.
    n_steps
        Rounds of messages in both directions.
    damping
        Share of the old message that is kept, in [0, 1).

    Examples
    --------
    >>> import crbm, torch
    >>> energy = crbm.CRF(4, 3).condition(torch.ones(5, 4))
    >>> run(energy, n_steps=20, damping=0.3).v.shape
    torch.Size([5, 3])
    """
    _check(n_steps, damping)
    if is_pairwise(energy):
        state = _pairwise(energy, n_steps, damping)
        return Marginals(state.total.sigmoid(), state.delta)
    if not is_bipartite(energy):
        raise TypeError(
            "Belief propagation needs a pairwise or a bipartite energy; got "
            f"{type(energy).__name__}. Use gibbs or mean_field for it."
        )
    _check_binary(energy)
    return _bipartite(energy, n_steps, damping)


def _check_binary(energy: BipartiteEnergy) -> None:
    if energy.hidden != BERNOULLI or energy.visible != BERNOULLI:
        raise TypeError(
            "Belief propagation is written for binary units; this energy has "
            f"{energy.visible!r} and {energy.hidden!r}. Use gibbs or mean_field for it."
        )
    if energy.weight.ndim != 2:
        raise TypeError(
            "Belief propagation keeps a message per pair of units, too many for "
            "convolutional couplings. Use gibbs or mean_field for them."
        )


def moments(
    energy: PairwiseEnergy, *, n_steps: int = 50, damping: float = 0.3
) -> Moments:
    """Beliefs about each output and each pair of outputs: a CRF's negative phase."""
    _check(n_steps, damping)
    state = _pairwise(energy, n_steps, damping)
    away = (
        state.total[..., None] - state.incoming.mT
    )  # of i, without the message from j
    # p(v_i = 1, v_j = 1) = p(v_i = 1) p(v_j = 1 | v_i = 1) within the pair.
    on = away + Couplings.of(energy.weight).message(away).mT
    joint = on.sigmoid() * (away.mT + energy.weight).sigmoid()
    v = state.total.sigmoid()
    return Moments(v, _with_diagonal(joint, v), state.delta)


def log_partition(energy: PairwiseEnergy, beliefs: Moments) -> Float[Tensor, "*batch"]:
    """Bethe's estimate of log Z from the beliefs: exact on a tree.

    Mean energy plus the entropies of all pairs, less those of the units counted
    more than once.
    """
    v, vv = beliefs.v, beliefs.vv
    coupled = (energy.weight != 0).to(v)
    energy_mean = (energy.weight * vv).sum((-2, -1)) / 2
    energy_mean = energy_mean + (energy.visible_bias * v).sum(-1)
    pair_entropy = (_pair_entropies(v, vv) * coupled).sum((-2, -1)) / 2
    unit_entropies = torch.special.entr(v) + torch.special.entr(1 - v)
    counted_again = ((coupled.sum(-1) - 1) * unit_entropies).sum(-1)
    return energy_mean + pair_entropy - counted_again


class Couplings(NamedTuple):
    """What messages need of the weights, computed once."""

    sign: Tensor
    below: Tensor
    growth: Tensor

    @classmethod
    def of(cls, weight: Tensor) -> Couplings:
        """Prepare weights; past the exponent's range they act as its limit."""
        limit = 80.0 if weight.dtype == torch.float32 else 700.0
        size = weight.abs().clamp(max=limit)
        sign = torch.where(weight < 0, -1.0, 1.0).to(weight)  # 0 times inf is no number
        return cls(sign, weight.clamp(-limit, 0), size.expm1())

    def message(self, cavity: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Log-odds that a unit passes on along its couplings.

        log (1 + e^(c+w)) - log (1 + e^c), written so that nothing cancels and nothing
        overflows for either sign of w.
        """
        return self.below + torch.log1p((self.sign * cavity).sigmoid() * self.growth)


def _pair_entropies(v: Tensor, vv: Tensor) -> Tensor:
    only_i, only_j = v[..., :, None] - vv, v[..., None, :] - vv
    shares = torch.stack([vv, only_i, only_j, 1 - vv - only_i - only_j])
    return torch.special.entr(shares.clamp(min=0)).sum(0)


class _PairwiseState(NamedTuple):
    total: Tensor  # log-odds of each unit
    incoming: Tensor  # [i, j]: the message from unit i to unit j
    delta: Tensor


def _pairwise(energy: PairwiseEnergy, n_steps: int, damping: float) -> _PairwiseState:
    couplings = Couplings.of(energy.weight)
    field = energy.clamp_logits(energy.independent_field())
    if kernels.supports([field], couplings):
        return _PairwiseState(*kernels.pairwise(field, couplings, n_steps, damping))
    messages = field.new_zeros(*field.shape, energy.n_visible)
    total, delta = field, field.new_zeros(field.shape[:-1])
    for _ in range(n_steps):
        new = couplings.message(total[..., None] - messages.mT)
        messages = _damp(new, messages, damping)
        total, delta = _with_change(field + messages.sum(-2), total)
    return _PairwiseState(total, messages, delta)


def _bipartite(energy: BipartiteEnergy, n_steps: int, damping: float) -> Marginals:
    couplings = Couplings.of(energy.weight)
    field = energy.clamp_logits(energy.independent_field())
    hidden_field = energy.hidden_bias.expand(*field.shape[:-1], energy.n_hidden)
    fields = field, hidden_field
    if kernels.supports(fields, couplings):
        total, delta = kernels.bipartite(*fields, couplings, n_steps, damping)
        return Marginals(total.sigmoid(), delta)
    to_hidden = field.new_zeros(*field.shape, energy.n_hidden)
    to_visible = torch.zeros_like(to_hidden)
    total, delta = field, field.new_zeros(field.shape[:-1])
    for _ in range(n_steps):
        new = couplings.message(total[..., None] - to_visible)
        to_hidden = _damp(new, to_hidden, damping)
        hidden_total = hidden_field + to_hidden.sum(-2)
        new = couplings.message(hidden_total[..., None, :] - to_hidden)
        to_visible = _damp(new, to_visible, damping)
        total, delta = _with_change(field + to_visible.sum(-1), total)
    return Marginals(total.sigmoid(), delta)


def _damp(new: Tensor, old: Tensor, damping: float) -> Tensor:
    return torch.lerp(new, old, damping) if damping else new


def _with_change(total: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """The log-odds, and the largest change of a marginal of each case."""
    change = (total.sigmoid() - before.sigmoid()).abs()
    return total, change.amax(-1)


def _with_diagonal(joint: Tensor, v: Tensor) -> Tensor:
    joint = joint.clone()
    joint.diagonal(dim1=-2, dim2=-1).copy_(v)
    return joint


def _check(n_steps: int, damping: float) -> None:
    checks.whole_number("n_steps", n_steps, at_least=1)
    checks.unit_interval("damping", damping, open_end=True)
