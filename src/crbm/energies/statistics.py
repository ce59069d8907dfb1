"""Sums over the states of one phase: all that a closed-form gradient needs."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from crbm.kernels import RowLogits
from crbm.types import States
from crbm.units import Units


class Phase(NamedTuple):
    """One phase of a pairwise energy as sums.

    The products v^T weighted_v give the gradient of the couplings.
    """

    mean_v: Float[Tensor, "batch visible"]
    v: Float[Tensor, "rows visible"]
    weighted_v: Float[Tensor, "rows visible"]


class BipartitePhase(NamedTuple):
    """One phase of a bipartite energy as sums.

    The products v^T weighted_h give the gradient of the couplings.
    """

    mean_v: Float[Tensor, "batch visible"]
    mean_h: Float[Tensor, "batch hidden"]
    v: Float[Tensor, "rows visible"]
    weighted_h: Float[Tensor, "rows hidden"]


def bipartite_phase(states: States, h: Tensor) -> BipartitePhase:
    """Sums of v, h and v h over states, where h is the mean given v."""
    if states.weight is not None:
        h = h * states.weight[..., None]
    mean_v = _mean_visible(states)
    if h.ndim == 2:
        return BipartitePhase(mean_v, h, states.v, h)
    return BipartitePhase(mean_v, h.sum(1), states.v.flatten(0, 1), h.flatten(0, 1))


def table_phase(states: States, fields: RowLogits, hidden: Units) -> BipartitePhase:
    """The same for rows of a table; v h is summed by row, over all cases."""
    assert states.ids is not None
    assert states.weight is not None
    by_row, by_case = hidden.means_of_rows(fields, states.ids, states.weight)
    return BipartitePhase(_mean_visible(states), by_case, states.v, by_row)


def pairwise_phase(states: States) -> Phase:
    """Sums of v and v v over states."""
    mean_v = _mean_visible(states)
    v, weight = states.v, states.weight
    if states.ids is not None:
        assert weight is not None
        by_row = v.new_zeros(len(v))
        by_row.index_add_(0, states.ids.flatten(), weight.flatten())
        return Phase(mean_v, v, v * by_row[:, None])
    weighted = v if weight is None else v * weight[..., None]
    rows = v.reshape(-1, v.shape[-1])
    return Phase(mean_v, rows, weighted.reshape(rows.shape))


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
