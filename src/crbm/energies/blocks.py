"""Blocks of outputs that are independent given all others, and their conditionals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from crbm.energies.couplings import Windowed
from crbm.types import States

if TYPE_CHECKING:
    from crbm.energies.bipartite import BipartiteEnergy


class BlockConditional(NamedTuple):
    """The distribution of a block of outputs given all others.

    Parameters
    ----------
    log_p
        Log p(unit = value | all outputs outside the block) for units of the block, and
        0 elsewhere.
    expected
        States whose sum is the mean over this distribution, in every phase.
    """

    log_p: Float[Tensor, "batch values units"]
    expected: States


def block_conditional(
    energy: BipartiteEnergy,
    v: Float[Tensor, "batch visible"],
    chosen: Bool[Tensor, "batch units"],
) -> BlockConditional:
    """The conditional of the chosen units, no two of which share a hidden unit.

    All units of a block take a value at once: a hidden unit depends on at most one of
    them, so one pass per value gives the conditionals of all.
    """
    coupling, hidden = energy.coupling, energy.hidden
    assert isinstance(coupling, Windowed)
    states = _with_each_value(energy, v, chosen)
    fields = energy.with_state_axis().hidden_field(states)
    each = hidden.log_partition(fields.unflatten(-1, (-1, hidden.width)))
    n_units = chosen.shape[-1]
    received = coupling.window_sums(each.unflatten(-1, (n_units, -1)).sum(-1))
    log_p = (received + _own_terms(energy, states)).log_softmax(1)
    log_p = torch.where(chosen[:, None], log_p, 0)

    # The value of the one chosen unit that a hidden unit sees has this probability.
    in_block = chosen[:, None].to(v)
    share = coupling.window_sums(log_p.exp() * in_block)
    share = share + (1 - coupling.window_sums(in_block)) / states.shape[1]
    n_each = fields.shape[-1] // n_units
    means = hidden.mean(fields) * share.repeat_interleave(n_each, -1)
    return BlockConditional(log_p, _expected(energy, v, states, means, log_p, in_block))


def _with_each_value(
    energy: BipartiteEnergy, v: Tensor, chosen: Tensor
) -> Float[Tensor, "batch values visible"]:
    """The outputs with all chosen units at the same value, one state per value."""
    width = energy.visible.width
    values = energy.visible.states(v)[None, :, None]
    units = v.unflatten(-1, (-1, width))[:, None]
    return torch.where(chosen[:, None, :, None], values, units).flatten(2)


def _own_terms(energy: BipartiteEnergy, states: Tensor) -> Tensor:
    """v . b + log_base(v) of each unit."""
    width = energy.visible.width
    own = (states * energy.with_state_axis().visible_bias).unflatten(-1, (-1, width))
    return own.sum(-1) + energy.visible.log_base(states.unflatten(-1, (-1, width)))


def _expected(
    energy: BipartiteEnergy,
    v: Tensor,
    states: Tensor,
    means: Tensor,
    log_p: Tensor,
    in_block: Tensor,
) -> States:
    """States with shares of the hidden means, and one that corrects the sum of v."""
    values = energy.visible.states(v)
    mean = torch.einsum("bku,kw->buw", log_p.exp(), values).flatten(1)
    place = in_block[:, 0].repeat_interleave(energy.visible.width, -1)
    mean = torch.where(place > 0, mean, v)
    rest = (mean - states.sum(1))[:, None]
    empty = means.new_zeros(len(v), 1, means.shape[-1])
    return States(torch.cat([states, rest], 1), cache=torch.cat([means, empty], 1))
