"""Probabilities of whole label sets where any output is possible.

Log probabilities are exact where one layer of a model has at most 20 units, and
estimates otherwise: Bethe's for a CRF, annealed importance sampling for a CRBM. With
more than `ENUMERABLE_LABELS` labels the likeliest sets are looked for among those seen
in training and the one that the marginals round to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from crbm import checks
from crbm.inference import exact
from crbm.inference.enumeration import layer_states
from crbm.inference.partition import log_partition
from crbm.models import EnergyModel
from crbm.types import Batch
from crbm.units import Units

# All 2^n label sets are compared up to this many labels.
ENUMERABLE_LABELS = 12
# Numbers in the largest temporary of a comparison: 64 MB.
LARGEST_TABLE = 2**24


def seen_sets(data: Batch, units: Units, before: Tensor | None = None) -> Tensor:
    """The label sets to compare: all, or those of complete cases and of `before`."""
    n_labels = data.v.shape[1]
    if units.n_bits(n_labels) <= ENUMERABLE_LABELS:
        return layer_states(units, n_labels, like=data.v)
    complete = data.v[~data.v.isnan().any(1)]
    return torch.cat([complete] if before is None else [before, complete]).unique(dim=0)


@torch.no_grad()
def log_probability(models: Sequence[EnergyModel], u: Tensor, v: Tensor) -> Tensor:
    """Log p(v | u), averaged over the members; unknown labels are summed out."""
    members = []
    for model in models:
        energy = model.condition(u)
        score = -energy.free_energy(v)
        if v.isnan().any():
            score = log_partition(energy.clamp(v))
        # An estimate of log Z may be too low; the score is a lower bound on it.
        members.append(score - torch.fmax(log_partition(energy), score))
    scores = torch.stack(members).logsumexp(0) - math.log(len(members))
    return checks.not_overflowed(scores, u)


class Question(NamedTuple):
    """Cases whose most probable label sets are to be found."""

    u: Tensor
    known: Tensor | None
    rounded: Tensor  # the sets that the marginals round to


@torch.no_grad()
def top_k(
    models: Sequence[EnergyModel], sets: Tensor, question: Question, k: int
) -> tuple[Tensor, Tensor]:
    """The likeliest of the sets and of the rounded marginals, with probabilities."""
    width = max(sets.shape[1], *(getattr(model, "n_hidden", 1) for model in models))
    n_rows = max(1, LARGEST_TABLE // (len(sets) * width))
    parts = []
    for rows in torch.arange(len(question.u)).split(n_rows):
        u, known, rounded = question
        given = None if known is None else known[rows]
        parts.append(_compare(models, sets, Question(u[rows], given, rounded[rows]), k))
    labels, probability = zip(*parts, strict=True)
    return torch.cat(labels), torch.cat(probability)


def _compare(
    models: Sequence[EnergyModel], sets: Tensor, question: Question, k: int
) -> tuple[Tensor, Tensor]:
    u, known, rounded = question
    seen = (sets == rounded[:, None]).all(-1).any(-1)
    chance = u.new_zeros(len(u), len(sets) + 1)
    for model in models:
        energy = model.condition(u)
        log_z = log_partition(energy.clamp(known))
        table = exact.scores(energy, sets)[1]
        table = table.masked_fill(_contradicts(sets, known), -torch.inf)
        extra = -energy.free_energy(rounded)[:, None]
        extra = extra.masked_fill(seen[:, None], -torch.inf)
        chance += shares(torch.cat([table, extra], 1), log_z)
    checks.not_overflowed(chance, u)
    best = (chance / len(models)).topk(min(k, chance.shape[1]))
    labels = torch.cat([sets, sets[:1]])[best.indices]
    is_extra = (best.indices == len(sets))[..., None]
    labels = torch.where(is_extra, rounded[:, None], labels)
    return labels * (best.values > 0)[..., None], best.values


def shares(
    scores: Float[Tensor, "cases sets"], log_z: Float[Tensor, " cases"]
) -> Float[Tensor, "cases sets"]:
    """exp(score - log Z) of distinct label sets; together at most 1.

    An estimate of log Z may be lower than the sum over these sets alone, which is a
    lower bound on it.

    Examples
    --------
    >>> shares(torch.zeros(1, 2), torch.tensor([-5.0]))
    tensor([[0.5000, 0.5000]])
    """
    highest = scores.amax(-1, keepdim=True)
    weights = torch.exp(scores - highest)
    rest = torch.exp(log_z[:, None] - highest)
    return weights / torch.fmax(weights.sum(-1, keepdim=True), rest)


def _contradicts(sets: Tensor, known: Tensor | None) -> Tensor:
    """Which of the sets disagree with the known labels of each case."""
    if known is None:
        return torch.tensor(False)
    wanted = known[:, None]
    return ((sets != wanted) & ~wanted.isnan()).any(-1)
