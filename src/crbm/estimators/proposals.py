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

# Labels are never surer than this in sets that are not listed.
SURE, TINY = 1e-4, 1e-9


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
    rest: float = 0.0,
) -> States:
    """The candidates and the proposals as one distribution.

    The proposals have `share` of the probability, in proportion to exp(score); none
    where a case has no real ones. `rest` of that share is left to all other sets.
    """
    assert posterior.weight is not None
    real = proposals.real
    masked = scores.masked_fill(~real, -torch.inf)
    own = masked.softmax(-1).nan_to_num(0)
    some = real.any(1, keepdim=True).to(own)
    n_listed = (posterior.weight > 0).sum(1) + real.sum(1)
    left = share * rest * (n_listed < 2.0 ** posterior.v.shape[-1])[:, None].to(own)
    part = some * (share - left)
    weight = torch.cat([(1 - part - left) * posterior.weight, part * own], 1)
    return States(torch.cat([exact.dense(posterior), proposals.sets], 1), weight)


def log_rest(
    posterior: States,
    marginals: Float[Tensor, "cases labels"],
    v: Float[Tensor, "cases labels"],
) -> Float[Tensor, " cases"]:
    """Log probability of v among the sets that are not listed.

    Labels are independent there, with the marginals' probabilities, moved a little
    towards 1/2 so that every set is possible. Unknown labels (NaN) are summed out. -inf
    where v is complete and listed.

    Examples
    --------
    >>> listed = States(torch.eye(2)[None], torch.tensor([[0.5, 0.5]]))
    >>> v = torch.tensor([[1.0, 1.0]])
    >>> log_rest(listed, torch.tensor([[0.5, 0.5]]), v).exp()  # the other is {}
    tensor([0.5000])
    """
    assert posterior.weight is not None
    sets = exact.dense(posterior)
    p = marginals.to(sets).clamp(SURE, 1 - SURE)
    known = ~v.isnan()
    agrees = ((v[:, None] == sets) | ~known[:, None]).all(-1)
    # a set without any probability may be padding: it must not be counted twice
    real = posterior.weight > 0
    scores = (sets @ p.logit()[..., None])[..., 0] + (1 - p).log().sum(1, keepdim=True)
    listed = scores.masked_fill(~real, -torch.inf)
    own = _log_independent(p, v)
    inside = listed.masked_fill(~agrees, -torch.inf).logsumexp(1)
    rest = _log_difference(own, inside)
    rest = rest.masked_fill((agrees & real).any(1) & known.all(1), -torch.inf)
    return rest - _log_difference(torch.zeros_like(own), listed.logsumexp(1))


def _log_independent(p: Tensor, v: Tensor) -> Tensor:
    """Log probability of v for independent labels; unknown labels are summed out."""
    return torch.where(v.isnan(), 1, torch.where(v > 0.5, p, 1 - p)).log().sum(-1)


def _log_difference(larger: Tensor, smaller: Tensor) -> Tensor:
    """Log(exp(larger) - exp(smaller)), not below log(TINY) of the larger."""
    share = (smaller - larger).exp().clamp(max=1 - TINY)
    return larger + torch.log1p(-share)
