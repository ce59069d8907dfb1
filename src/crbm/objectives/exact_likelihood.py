"""The likelihood over all outputs, for small models and for logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor

from crbm.energies import BipartiteEnergy, Energy
from crbm.inference import enumeration
from crbm.objectives.candidate_likelihood import against_all
from crbm.types import Batch, Contrast, States


@dataclass(frozen=True)
class ExactLikelihood:
    """The data against all outputs, weighted by their exact probability.

    For models of at most 20 binary outputs or hidden units (or as many states of other
    discrete ones), and for models without hidden units of any size: there F is linear
    in v, so one state at the means replaces all. Whichever layer has fewer states is
    enumerated; the outputs given the other one are independent.

    Notes
    -----
    -log p(v | u) [1]_, Eqs. 11 and 12.
    """

    short_name: ClassVar[str] = "exact"

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        if energy.is_independent:
            return _independent(energy.expand(batch.n_cases), batch)
        if enumeration.has_few_hidden_states(energy):
            return _over_hidden_states(energy.expand(batch.n_cases), batch.v)
        return against_all(energy, batch._replace(candidates=None))


def _over_hidden_states(energy: BipartiteEnergy, v: Tensor) -> Contrast:
    everything, log_z = enumeration.joint_states(energy)
    if v.sum().isnan():
        agreeing, log_z_agreeing = enumeration.joint_states(energy.clamp(v))
        return Contrast(agreeing, everything, loss=log_z - log_z_agreeing)
    data = energy.evaluate(v)
    positive = States(data.v, cache=data.cache)
    return Contrast(positive, everything, loss=data.free_energy + log_z)


def _independent(energy: Energy, batch: Batch) -> Contrast:
    field, units = energy.independent_field(), energy.visible
    mean = units.mean(field)
    # An unknown output at its mean adds nothing to the gradient or to the loss.
    v = torch.where(batch.v.isnan(), mean, batch.v)
    loss = units.log_partition(field) - units.log_partition(field, batch.v)
    return Contrast(States(v), States(mean), loss)
