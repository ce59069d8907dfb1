"""p(v | u) over the candidates of a `HashCRBMClassifier`, and beyond them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from crbm import checks
from crbm.estimators.hashed_cases import SMALL_TABLE, from_table, restrict_to_known
from crbm.estimators.proposals import TINY, extend, log_rest, log_sizes, propose
from crbm.hashing.ragged import Groups
from crbm.inference import exact
from crbm.types import Batch, Candidates, States

if TYPE_CHECKING:
    from crbm.estimators.hash_crbm import HashCRBMClassifier

# Numbers in the largest temporary of a prediction: 64 MB.
LARGEST_TABLE = 2**24
# Cases whose candidates are computed together where they share few: each case costs
# as much as there are different candidates.
CASES_AT_ONCE = 128
# Of the probability, for candidates and for proposals: both stay possible.
LEAST = 0.01
# How often the true set is among the proposals, where that was not measured.
PROPOSAL_RECALL = 0.9


def over_candidates(
    classifier: HashCRBMClassifier, u: Tensor, known: Tensor | None
) -> Iterator[States]:
    """p(v | u) over the candidates, averaged over the models, a few rows at a time.

    If no candidate of a case agrees with its known labels, all its candidates are
    used, with the known labels filled in.
    """
    groups, table = classifier.sets_.groups(u), classifier._table(u)
    for rows in torch.arange(len(u)).split(_n_rows_at_once(classifier, groups)):
        candidates = from_table(table, groups.select(rows.numpy()).padded())
        if known is not None:
            candidates = restrict_to_known(candidates, known[rows])
        yield _average_members(classifier, u[rows], candidates)


def with_proposals(
    classifier: HashCRBMClassifier, u: Tensor, known: Tensor | None = None
) -> Iterator[States]:
    """p(v | u) over the candidates and the proposals beyond them.

    All other sets have what the weights lack to 1; nothing where labels are known.
    """
    if not classifier.n_proposals:
        yield from over_candidates(classifier, u, known)
        return
    recall, start = classifier.candidate_recall_, 0
    rest = 0.0 if known is not None else 1 - classifier.proposal_recall_
    share = 0.5 if math.isnan(recall) else min(max(1 - recall, LEAST), 1 - LEAST)
    sizes, counts = classifier.sets_.packed_.set_sizes(), classifier.sets_.counts_
    counts = None if counts is None else counts.to(u)
    by_size = log_sizes(sizes, counts, classifier.n_labels_).to(u)
    for posterior in over_candidates(classifier, u, known):
        assert posterior.weight is not None
        rows = slice(start, start + len(posterior.weight))
        start = rows.stop
        given = None if known is None else known[rows]
        found = propose(posterior, classifier.n_proposals, given)
        log_base = by_size[found.sets.sum(-1).long()]
        candidates = Candidates(found.sets, log_base=log_base)
        chance = _average_members(classifier, u[rows], candidates).weight
        assert chance is not None
        yield extend(posterior, found, chance.log(), share, rest)


def with_rest(
    classifier: HashCRBMClassifier,
    listed: Tensor,
    posterior: States,
    u: Tensor,
    v: Tensor,
    start: int,
) -> Tensor:
    """Log probabilities with what is left to sets that are not listed."""
    assert posterior.weight is not None
    rows = slice(start, start + len(posterior.weight))
    # what the listed sets lack in probability
    share = (1 - posterior.weight.sum(-1)).clamp(min=TINY)
    rest = log_rest(posterior, classifier._marginals(u[rows], None), v[rows])
    return torch.logaddexp(listed, share.log() + rest)


@torch.no_grad()
def proposal_recall(classifier: HashCRBMClassifier, held_out: Batch | None) -> float:
    """How often a held-out label set that is no candidate is among the proposals.

    With add-one smoothing, as all sets must stay possible.
    """
    if held_out is None or not classifier.n_proposals:
        return PROPOSAL_RECALL
    complete = ~held_out.v.isnan().any(1)
    u, v = torch.as_tensor(held_out.u)[complete], held_out.v[complete]
    n_missed = n_found = start = 0
    closed, opened = over_candidates(classifier, u, None), with_proposals(classifier, u)
    for posterior, extended in zip(closed, opened, strict=True):
        assert posterior.weight is not None
        assert extended.weight is not None
        own = v[start : start + len(extended.weight), None]
        start += len(extended.weight)
        agrees = (own == exact.dense(extended)).all(-1) & (extended.weight > 0)
        n_candidates = posterior.weight.shape[1]
        missed = ~agrees[:, :n_candidates].any(1)
        n_missed += int(missed.sum())
        n_found += int((agrees[:, n_candidates:].any(1) & missed).sum())
    return (n_found + 1) / (n_missed + 2)


@torch.no_grad()
def set_probabilities(
    classifier: HashCRBMClassifier, u: Tensor
) -> Float[Tensor, "cases sets"]:
    """p(v | u) of every set of `label_sets_`."""
    groups, table = classifier.sets_.groups(u), classifier._table(u)
    found = u.new_zeros(len(u), len(table.sets))
    for rows in torch.arange(len(u)).split(_n_rows_at_once(classifier, groups)):
        chosen = groups.select(rows.numpy()).padded()
        weight = _average_members(classifier, u[rows], from_table(table, chosen)).weight
        assert weight is not None
        found[rows] = found[rows].scatter_add(1, chosen.ids, weight)
    return found


def best(posterior: States, k: int) -> tuple[Tensor, Tensor]:
    """The k likeliest label sets of each case and their probabilities."""
    assert posterior.weight is not None
    top = posterior.weight.topk(min(k, posterior.weight.shape[1]))
    labels = exact.dense(posterior)
    where = top.indices[..., None].expand(-1, -1, labels.shape[-1])
    chosen = labels.gather(1, where) * (top.values > 0)[..., None]
    return chosen, top.values


def _n_rows_at_once(classifier: HashCRBMClassifier, groups: Groups) -> int:
    """Cases whose largest temporary stays below `LARGEST_TABLE`."""
    width = max(classifier.n_labels_, classifier.n_hidden, 1)
    limit = LARGEST_TABLE // (width * int(groups.sizes.max()))
    if len(classifier.sets_.packed_) > SMALL_TABLE:
        limit = min(limit, CASES_AT_ONCE)
    return max(1, limit)


def _average_members(
    classifier: HashCRBMClassifier, u: Tensor, candidates: Candidates
) -> States:
    joint = [
        exact.scores(model.condition(u), candidates)[1].softmax(-1)
        for model in classifier.models_
    ]
    average = checks.not_overflowed(torch.stack(joint).mean(0), u)
    return States(candidates.table, average, candidates.ids)
