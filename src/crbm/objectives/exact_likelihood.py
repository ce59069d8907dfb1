"""The likelihood over all outputs, for small models and for logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor

from crbm import checks
from crbm.energies import BipartiteEnergy, Energy
from crbm.inference import enumeration
from crbm.objectives.base import added_later
from crbm.objectives.candidate_likelihood import against_all
from crbm.types import Batch, Contrast, States

TINY = 1e-30  # below the weight of any hidden state that counts


@dataclass(frozen=True)
class ExactLikelihood:
    """The data against all outputs, weighted by their exact probability.

    For models of at most 20 binary outputs or hidden units (or as many states of other
    discrete ones), and for models without hidden units of any size: there F is linear
    in v, so one state at the means replaces all. Whichever layer has fewer states is
    enumerated; the outputs given the other one are independent.

    Parameters
    ----------
    marginals
        Weight of the likelihood of each output on its own, -sum_i log p(v_i | u), which
        is added to that of all together: the loss is their weighted mean. It needs few
        hidden states, or none, and discrete outputs.

    Notes
    -----
    -log p(v | u) [1]_, Eqs. 11 and 12. With `marginals` it is a composite likelihood,
    after Varin, Reid and Firth (2011), "An overview of composite likelihood methods".
    """

    short_name: ClassVar[str] = "exact"

    marginals: float = added_later(0.0)

    def __post_init__(self) -> None:
        checks.not_negative("marginals", self.marginals)

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        if energy.is_independent:
            return _independent(energy.expand(batch.n_cases), batch)
        if enumeration.has_few_hidden_states(energy):
            energy = energy.expand(batch.n_cases)
            if self.marginals:
                return _with_marginals(energy, batch.v, self.marginals)
            return _over_hidden_states(energy, batch.v)
        if self.marginals:
            raise ValueError(
                "`marginals` needs a model with few hidden states, or without hidden "
                "units; use it with 0 here."
            )
        return against_all(energy, batch._replace(candidates=None))


def _over_hidden_states(energy: BipartiteEnergy, v: Tensor) -> Contrast:
    everything, log_z = enumeration.joint_states(energy)
    if v.sum().isnan():
        agreeing, log_z_agreeing = enumeration.joint_states(energy.clamp(v))
        return Contrast(agreeing, everything, loss=log_z - log_z_agreeing)
    data = energy.evaluate(v)
    positive = States(data.v, cache=data.cache)
    return Contrast(positive, everything, loss=data.free_energy + log_z)


def _with_marginals(energy: BipartiteEnergy, v: Tensor, share: float) -> Contrast:
    """The joint likelihood and, times `share`, that of each output, over 1 + share.

    The second one has the gradient of a data phase per output, in which only that
    output is known. All of them have the hidden states in common, so that their sum is
    again one weighted mean of the outputs per hidden state.
    """
    joint = _over_hidden_states(energy, v)
    everything, units = joint.negative, energy.visible
    means, prior, h = everything.v, everything.weight[..., None], everything.cache
    least = torch.finfo(v.dtype).eps
    losses = units.log_losses(means, v[:, None], least).nan_to_num()
    scores = prior.log() - losses  # nothing is learned from an unknown output
    given_one = scores.softmax(1)  # p(h | v_i) of each output i
    by_state = given_one.sum(-1, keepdim=True)
    moved = (v[:, None] - means).nan_to_num().unflatten(-1, (losses.shape[-1], -1))
    total = by_state * means + (given_one[..., None] * moved).flatten(-2)
    given_all, data = _given_all(energy, v, h)
    weight = given_all + share * by_state
    v = (given_all * data + share * total) / weight.clamp(min=TINY)
    scale, n_units = 1 / (1 + share), losses.shape[-1]
    return Contrast(
        States(v, scale * weight[..., 0], cache=h),
        States(means, scale * (1 + share * n_units) * everything.weight, cache=h),
        loss=scale * (joint.loss - share * scores.logsumexp(1).sum(-1)),
    )


def _given_all(energy: BipartiteEnergy, v: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """p(h | v) of the hidden states, (batch, states, 1), and E[v | h] with v known."""
    if v.sum().isnan():
        agreeing, _ = enumeration.joint_states(energy.clamp(v))
        assert agreeing.weight is not None
        return agreeing.weight[..., None], agreeing.v
    scores = (h @ energy.hidden_field(v)[..., None])[..., 0]
    scores = scores + energy.hidden.log_base(h)
    return scores.softmax(-1)[..., None], v[:, None]


def _independent(energy: Energy, batch: Batch) -> Contrast:
    field, units = energy.independent_field(), energy.visible
    mean = units.mean(field)
    # An unknown output at its mean adds nothing to the gradient or to the loss.
    v = torch.where(batch.v.isnan(), mean, batch.v)
    loss = units.log_partition(field) - units.log_partition(field, batch.v)
    return Contrast(States(v), States(mean), loss)
