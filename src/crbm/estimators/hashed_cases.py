"""Cases with their candidates, and candidates that agree with known labels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.functional import pad

from crbm.hashing import CandidateSets
from crbm.hashing.packed_sets import PackedSets
from crbm.hashing.ragged import CandidateIds, Groups, Ragged
from crbm.types import Batch, Candidates

# Rows of a table of label sets that are not worth cutting down for each batch.
SMALL_TABLE = 1024
# Cases that the recall of the candidates is estimated from.
RECALL_CASES = 10_000
# Sorting one id takes as long as marking this many rows of a table.
MARK_COST = 32


class SetTable(NamedTuple):
    """Distinct label sets, and the log of how much each one counts beforehand.

    Large tables stay packed; `dtype` is that of the rows taken from them.
    """

    sets: Tensor | PackedSets
    log_base: Tensor | None
    dtype: torch.dtype | None = None

    def dense(self) -> Tensor:
        """All label sets as numbers."""
        if isinstance(self.sets, PackedSets):
            return self.sets.dense().to(self.dtype)
        return self.sets

    def rows(self, ids: Tensor) -> Tensor:
        """Some label sets as numbers."""
        if isinstance(self.sets, PackedSets):
            return self.sets.rows(ids.numpy()).to(self.dtype)
        return self.sets[ids]


class HashedCases(NamedTuple):
    """Cases whose candidates stay ragged until a batch is drawn."""

    u: Tensor
    v: Tensor
    weight: Tensor | None
    table: SetTable
    groups: Groups

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return len(self.v)

    def select(self, cases: Int[Tensor, " chosen"] | slice) -> Batch:
        """The chosen cases, their candidates padded to the largest set among them."""
        rows = cases if isinstance(cases, slice) else cases.numpy()
        candidates = from_table(self.table, self.groups.select(rows).padded())
        weight = None if self.weight is None else self.weight[cases]
        return Batch(self.u[cases], self.v[cases], candidates, weight)


def with_no_more(labels: Tensor, sets: Tensor) -> Tensor:
    """The known labels alone."""
    return labels.nan_to_num()


def with_first_set(labels: Tensor, sets: Tensor) -> Tensor:
    """The known classes, the others as in the first of the sets."""
    return torch.where(labels.isnan(), sets[0], labels)


def agreeing_candidates(
    table: SetTable,
    groups: Groups,
    v: Tensor,
    fill: Callable[[Tensor, Tensor], Tensor] = with_no_more,
) -> tuple[SetTable, Groups]:
    """The sets with candidates added where none agrees with what is known of v.

    All rows of the table that agree are added, or, if there are none, the known labels
    with the others filled in as a new row, which counts once: then learning has
    something to raise the probability of.
    """
    if not v.isnan().any():
        return table, groups
    label_sets, sets, which = table.dense(), groups.sets, groups.which.copy()
    rows = [sets.ids[a:b] for a, b in pairwise(sets.indptr)]
    for case in v.isnan().any(1).nonzero().squeeze(1).tolist():
        labels, own = v[case], rows[which[case]]
        agrees = (labels.isnan() | (labels == label_sets)).all(-1).numpy()
        if agrees[own].any():
            continue
        if not agrees.any():
            label_sets = torch.cat([label_sets, fill(labels, label_sets)[None]])
            agrees = np.append(agrees, True)
        which[case] = len(rows)
        rows.append(np.union1d(own, np.flatnonzero(agrees)).astype(own.dtype))
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    log_base = table.log_base
    if log_base is not None:
        log_base = pad(log_base, (0, len(label_sets) - len(log_base)))
    groups = Groups(which, Ragged(ends, np.concatenate(rows)))
    return SetTable(label_sets, log_base), groups


def from_table(table: SetTable, chosen: CandidateIds) -> Candidates:
    """Candidates by their rows; a large table is cut down to the rows in use."""
    ids, mask = chosen
    n_sets, log_base = len(table.sets), table.log_base
    if n_sets <= SMALL_TABLE:
        return Candidates(table.dense(), mask, ids, log_base)
    if n_sets > MARK_COST * ids.numel():
        rows, place = ids.unique(return_inverse=True)
    else:
        present = torch.zeros(n_sets, dtype=torch.bool)
        present[ids.flatten()] = True
        rows, place = present.nonzero().squeeze(1), (present.cumsum(0) - 1)[ids]
    log_base = None if log_base is None else log_base[rows]
    return Candidates(table.rows(rows), mask, place, log_base)


def restrict_to_known(candidates: Candidates, known: Tensor) -> Candidates:
    """The candidates that agree with the known labels.

    If none does, all candidates with the known labels filled in.
    """
    table, mask, ids, log_base = candidates
    assert mask is not None
    own = table[ids]
    wanted = known[:, None].expand_as(own)
    agrees = ((own == wanted) | wanted.isnan()).all(-1) & mask
    none = ~agrees.any(-1)
    changed = torch.where(wanted.isnan(), own, wanted)
    own = torch.where(none[:, None, None], changed, own)
    log_base = None if log_base is None else log_base[ids]
    return Candidates(own, torch.where(none[:, None], mask, agrees), None, log_base)


def complete_cases(data: Batch) -> Batch:
    """Cases all of whose labels are known, at most `RECALL_CASES`, evenly spaced."""
    assert data.u is not None
    complete = (~data.v.isnan().any(1)).nonzero().squeeze(1)
    chosen = complete[:: -(-len(complete) // RECALL_CASES) or 1]
    return Batch(data.u[chosen], data.v[chosen])


def held_out_recall(sets: CandidateSets, data: Batch, share: float = 0.1) -> float:
    """The share of held-out cases whose label set is among their candidates.

    Every tenth case is held out from the index. NaN if there are too few cases.
    """
    assert data.u is not None
    held_out = torch.zeros(data.n_cases, dtype=torch.bool)
    held_out[:: round(1 / share)] = True
    if not held_out.any() or (~held_out).sum() < 2:
        return float("nan")
    sets.fit(data.u[~held_out], data.v[~held_out])
    return sets.recall(data.u[held_out], data.v[held_out])
