"""Sums over the states of one phase: all that a closed-form gradient needs."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from crbm import kernels
from crbm.types import RowLogits, States


class Phase(NamedTuple):
    """One phase as sums.

    `v` and `partner` are the rows whose products v^T partner give the gradient of the
    couplings, with the states' weights already in `partner`.
    """

    mean_v: Float[Tensor, "batch visible"]
    v: Float[Tensor, "rows visible"]
    partner: Float[Tensor, "rows partners"]


class BipartitePhase(NamedTuple):
    """A phase of a model with hidden units: also their mean for each case."""

    mean_v: Float[Tensor, "batch visible"]
    v: Float[Tensor, "rows visible"]
    partner: Float[Tensor, "rows hidden"]
    mean_h: Float[Tensor, "batch hidden"]


def bipartite_phase(states: States, h: Tensor) -> BipartitePhase:
    """Sums of v, h and v h over states, where h = p(h = 1 | v)."""
    if states.weight is not None:
        h = h * states.weight[..., None]
    mean_v = _mean_visible(states)
    if h.ndim == 2:
        return BipartitePhase(mean_v, states.v, h, mean_h=h)
    mean_h = h.sum(1)
    return BipartitePhase(mean_v, states.v.flatten(0, 1), h.flatten(0, 1), mean_h)


def table_phase(states: States, logits: RowLogits) -> BipartitePhase:
    """The same for rows of a table; v h is summed by row, over all cases."""
    assert states.ids is not None
    assert states.weight is not None
    sums = kernels.means_of_rows(logits, states.ids, states.weight)
    return BipartitePhase(_mean_visible(states), states.v, *sums)


def pairwise_phase(states: States) -> Phase:
    """Sums of v and v v over states."""
    mean_v = _mean_visible(states)
    v, weight = states.v, states.weight
    if states.ids is not None:
        assert weight is not None
        by_row = v.new_zeros(len(v))
        by_row.index_add_(0, states.ids.flatten(), weight.flatten())
        return Phase(mean_v, v, v * by_row[:, None])
    partner = v if weight is None else v * weight[..., None]
    rows = v.reshape(-1, v.shape[-1])
    return Phase(mean_v, rows, partner.reshape(rows.shape))


def _mean_visible(states: States) -> Tensor:
    v, weight = states.v, states.weight
    if states.ids is not None:
        assert weight is not None
        by_row = v.new_zeros(len(states.ids), len(v))
        return by_row.scatter_add_(1, states.ids, weight) @ v
    if weight is None:
        return v if v.ndim == 2 else v.sum(1)
    if v.ndim == 2:
        return v * weight[:, None]
    return (weight[:, None, :] @ v).squeeze(1)
