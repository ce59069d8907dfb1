"""Label sets beyond the candidates: proposed by marginals and by unions.

For label sets never seen in training. The labels in order of their marginals give
nested sets of every size, of which those near the expected size are proposed; the
unions of likely candidates combine what neighbours have.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from crbm.inference import exact
from crbm.types import States


class Proposals(NamedTuple):
    """Label sets that are no candidates, and which of them are real."""

    sets: Float[Tensor, "cases proposals labels"]
    real: Bool[Tensor, "cases proposals"]


def propose(
    posterior: States,
    n_proposals: int,
    known: Float[Tensor, "cases labels"] | None = None,
) -> Proposals:
    """At most `n_proposals` label sets per case outside its candidates.

    Parameters
    ----------
    posterior
        The candidates of each case with their probabilities.
    n_proposals
        Half of them are nested sets, half unions.
    known
        Labels that all proposals must have, NaN where they are not known.

    Examples
    --------
    >>> table = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    >>> weight, ids = torch.tensor([[0.6, 0.4]]), torch.tensor([[0, 1]])
    >>> found = propose(States(table, weight, ids), 2)
    >>> found.sets[found.real]
    tensor([[1., 1., 0., 0.]])
    """
    assert posterior.weight is not None
    candidates = exact.dense(posterior)
    n_unions = n_proposals // 2
    parts = [nested_sets(exact.average(posterior), n_proposals - n_unions)]
    if n_unions:
        parts.append(likely_unions(candidates, posterior.weight, n_unions))
    sets = torch.cat(parts, 1)
    if known is not None:
        sets = torch.where(known[:, None].isnan(), sets, known[:, None])
    # a candidate without any probability is padding, or contradicts what is known
    counts = posterior.weight > 0
    repeats = (_equal(sets, candidates) & counts[:, None]).any(-1)
    earlier = torch.ones(sets.shape[1], sets.shape[1], dtype=torch.bool).tril(-1)
    repeats |= (_equal(sets, sets) & earlier).any(-1)
    return Proposals(sets, ~repeats)


def nested_sets(
    p: Float[Tensor, "cases labels"], n_sets: int
) -> Float[Tensor, "cases sets labels"]:
    """The likeliest labels of each case, as sets of sizes around the expected one."""
    offsets = [(-1) ** step * (step + 1) // 2 for step in range(n_sets)]
    sizes = p.sum(1).round()[:, None] - torch.tensor(offsets).to(p)
    places = p.argsort(1, descending=True).argsort(1)
    return (places[:, None] < sizes.clamp(0, p.shape[1])[..., None]).to(p)


def likely_unions(
    candidates: Float[Tensor, "cases candidates labels"],
    weight: Float[Tensor, "cases candidates"],
    n_sets: int,
) -> Float[Tensor, "cases sets labels"]:
    """The unions of the likeliest candidates, in pairs; at most `n_sets`."""
    n_best = min(weight.shape[1], math.ceil((1 + math.sqrt(1 + 8 * n_sets)) / 2))
    best = weight.topk(n_best).indices[..., None]
    sets = candidates.gather(1, best.expand(-1, -1, candidates.shape[-1]))
    first, second = torch.tril_indices(n_best, n_best, -1)[:, :n_sets]
    return torch.maximum(sets[:, first], sets[:, second])


def _equal(sets: Tensor, others: Tensor) -> Tensor:
    """Whether sets are equal: then both have as many labels as they have in common."""
    common = sets @ others.transpose(1, 2)
    sizes, other_sizes = sets.sum(-1)[..., None], others.sum(-1)[:, None]
    return (common == sizes) & (common == other_sizes)


def log_sizes(
    sizes: Int[Tensor, " sets"], counts: Float[Tensor, " sets"] | None, n_labels: int
) -> Float[Tensor, " sizes"]:
    """Log of how often label sets had 0, 1, ... labels, with add-one smoothing."""
    counts = torch.ones(len(sizes)) if counts is None else counts
    found = counts.new_ones(n_labels + 1).index_add_(0, sizes, counts)
    return (found / found.sum()).log()


def extend(
    posterior: States,
    proposals: Proposals,
    scores: Float[Tensor, "cases proposals"],
    share: float,
) -> States:
    """The candidates and the proposals as one distribution.

    The proposals have `share` of the probability, in proportion to exp(score); none
    where a case has no real ones.
    """
    assert posterior.weight is not None
    real = proposals.real
    masked = scores.masked_fill(~real, -torch.inf)
    own = masked.softmax(-1).nan_to_num(0)
    part = share * real.any(1, keepdim=True).to(own)
    weight = torch.cat([(1 - part) * posterior.weight, part * own], 1)
    return States(torch.cat([exact.dense(posterior), proposals.sets], 1), weight)
