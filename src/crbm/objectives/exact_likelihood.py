"""The likelihood over all outputs, for small models and for logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator

from crbm.energies import Energy
from crbm.objectives.candidate_likelihood import against_all
from crbm.types import Batch, Contrast, States


@dataclass(frozen=True)
class ExactLikelihood:
    """The data against all outputs, weighted by their exact probability.

    For models of at most 20 binary outputs (or as many states of other discrete ones),
    and for models without hidden units of any size: there F is linear in v, so one
    state at the means replaces all.

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
        return against_all(energy, batch._replace(candidates=None))


def _independent(energy: Energy, batch: Batch) -> Contrast:
    field, units = energy.independent_field(), energy.visible
    mean = units.mean(field)
    # An unknown output at its mean adds nothing to the gradient or to the loss.
    v = torch.where(batch.v.isnan(), mean, batch.v)
    loss = units.log_partition(field) - units.log_partition(field, batch.v)
    return Contrast(States(v), States(mean), loss)
