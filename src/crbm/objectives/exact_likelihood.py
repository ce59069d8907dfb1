"""The likelihood over all outputs, for small models and for logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator
from torch.nn.functional import softplus

from crbm.energies import BipartiteEnergy, Energy
from crbm.objectives.candidate_likelihood import against_all
from crbm.types import Batch, Contrast, States


@dataclass(frozen=True)
class ExactLikelihood:
    """The data against all outputs, weighted by their exact probability.

    For models of at most 20 outputs, and for logistic regression (no hidden units) of
    any size: there F is linear in v, so one state at the means stands for all.

    Notes
    -----
    -log p(v | u) [1]_, Eqs. 11 and 12.
    """

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        if isinstance(energy, BipartiteEnergy) and energy.n_hidden == 0:
            return _independent(energy.expand(batch.n_cases), batch)
        return against_all(energy, batch._replace(candidates=None, mask=None, ids=None))


def _independent(energy: BipartiteEnergy, batch: Batch) -> Contrast:
    logits = energy.start_logits()
    means = logits.sigmoid()
    # An unknown output at its mean adds nothing to the gradient or to the loss.
    unknown = batch.v.isnan()
    v = torch.where(unknown, means, batch.v)
    surprise = torch.where(unknown, 0, softplus(logits) - v * logits)
    return Contrast(States(v), States(means), surprise.sum(-1))
