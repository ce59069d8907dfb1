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

NEEDS_FEW = (
    "`marginals` needs a model with few hidden states, or without hidden units; set it "
    "to 0 here."
)
NEEDS_DISCRETE = "`marginals` needs binary or categorical outputs; set it to 0 here."
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
            raise ValueError(NEEDS_FEW)
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
    if not energy.visible.is_finite or len(energy.visible.layer(v.shape[-1])) > 1:
        raise ValueError(NEEDS_DISCRETE)
    joint = _over_hidden_states(energy, v)
    everything, width = joint.negative, energy.visible.width
    assert isinstance(everything, States)
    means, prior, h = everything.v, everything.weight, everything.cache
    assert prior is not None
    assert joint.loss is not None
    # Nothing is learned from an unknown output: its difference is 0, so that it is
    # certain whatever the hidden state.
    moved = (v[:, None] - means).nan_to_num_().unflatten(-1, (-1, width))
    given_one, losses = _given_one(moved, prior)
    by_state = given_one.sum(-1)
    given_all, data = _given_all(energy, v, joint)
    weight = (given_all + share * by_state).clamp(min=TINY)
    parts = (given_all, share * by_state, share)
    for_data, for_means, for_moved = (part / weight for part in parts)
    v = (given_one * for_moved[..., None])[..., None].mul(moved).flatten(-2)
    v = v.addcmul_(means, for_means[..., None])
    v = v.addcmul_(data, for_data[..., None])
    scale, n_units = 1 / (1 + share), moved.shape[-2]
    return Contrast(
        States(v, scale * weight, cache=h),
        States(means, scale * (1 + share * n_units) * prior, cache=h),
        loss=scale * (joint.loss + share * losses),
    )


def _given_one(moved: Tensor, prior: Tensor) -> tuple[Tensor, Tensor]:
    """p(h | v_i) for each output i, (batch, states, units), and -sum_i log p(v_i).

    `moved` is v_i - E[v_i | h], with the numbers of a unit in the last dimension. One
    minus half its absolute sum is p(v_i | h); a binary unit has only one of two halves.
    """
    half = 1.0 if moved.shape[-1] == 1 else 0.5
    likely = torch.sub(1, moved.abs().sum(-1), alpha=half)
    likely = likely.clamp_(min=torch.finfo(moved.dtype).eps).mul_(prior[..., None])
    total = likely.sum(1)
    return likely.div_(total[:, None]), -total.log().sum(-1)


def _given_all(
    energy: BipartiteEnergy, v: Tensor, joint: Contrast
) -> tuple[Tensor, Tensor]:
    """p(h | v) of the hidden states, (batch, states), and E[v | h] with v known."""
    positive, everything = joint.positive, joint.negative
    assert isinstance(positive, States)
    assert isinstance(everything, States)
    if positive.weight is not None:  # some outputs are unknown
        return positive.weight, positive.v
    h = everything.cache
    scores = (h @ energy.hidden_field(v)[..., None])[..., 0]
    return (scores + energy.hidden.log_base(h)).softmax(-1), v[:, None]


def _independent(energy: Energy, batch: Batch) -> Contrast:
    field, units = energy.independent_field(), energy.visible
    mean = units.mean(field)
    # An unknown output at its mean adds nothing to the gradient or to the loss.
    v = torch.where(batch.v.isnan(), mean, batch.v)
    loss = units.log_partition(field) - units.log_partition(field, batch.v)
    return Contrast(States(v), States(mean), loss)
