"""The data with one output changed: the states of pseudo-likelihood and its kin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from crbm import checks
from crbm.energies import Energy
from crbm.objectives import base
from crbm.types import Batch, Contrast, Evaluated, States

IMPUTATION_STEPS = 10  # Gibbs steps that fill in unknown outputs


class Neighbours(NamedTuple):
    """The data, and the data with one output changed.

    Parameters
    ----------
    data
        The outputs, unknown ones filled in.
    states
        One state for each of some outputs and each of its other values.
    gap
        F(data) - F(state), -inf where the output is unknown.
    scale
        All outputs over those that were drawn, per case.
    """

    data: Evaluated
    states: States
    gap: Float[Tensor, "batch outputs others"]
    scale: float

    def contrast(
        self,
        weight: Float[Tensor, "batch outputs others"],
        loss: Float[Tensor, " batch"],
    ) -> Contrast:
        """The data against each neighbour with its weight."""
        weight = (weight * self.scale).flatten(1)
        positive = States(self.data.v, weight.sum(1), cache=self.data.cache)
        negative = self.states._replace(weight=weight)
        return Contrast(positive, negative, loss * self.scale)


@dataclass(frozen=True)
class OneOutput:
    """What objectives share that change one output at a time."""

    n_blocks: int | None = 32

    def __post_init__(self) -> None:
        if self.n_blocks is not None:
            checks.whole_number("n_blocks", self.n_blocks, at_least=1)

    def neighbours(
        self, energy: Energy, batch: Batch, generator: Generator | None
    ) -> Neighbours:
        """The data with one output changed, for at most `n_blocks` outputs per case."""
        v = impute_by_sampling(energy, batch, generator)
        n_units = v.shape[1] // energy.visible.width
        chosen = draw_units(v, n_units, self.n_blocks, generator)
        states = other_values(energy, v, chosen)
        data = energy.evaluate(v)
        near = energy.with_state_axis().evaluate(states.flatten(1, 2))
        gap = data.free_energy[:, None] - near.free_energy
        gap = gap.unflatten(1, states.shape[1:3])
        missing = batch.v.unflatten(-1, (n_units, -1))[..., 0].isnan()
        gap = gap.masked_fill(missing.gather(1, chosen)[..., None], -torch.inf)
        scale = n_units / chosen.shape[1]
        return Neighbours(data, States(near.v, cache=near.cache), gap, scale)

    def check_units(self, energy: Energy) -> None:
        """Refuse outputs without a finite list of values."""
        if not energy.visible.is_finite:
            raise TypeError(
                f"{type(self).__name__} needs outputs with a finite list of values, "
                "over which the conditional of one output is normalised; got "
                f"{energy.visible!r}. Use Perceptron or ContrastiveDivergence for them."
            )


def impute_by_sampling(
    energy: Energy, batch: Batch, generator: Generator | None
) -> Float[Tensor, "batch visible"]:
    """The outputs, unknown ones drawn given the known ones."""
    by = partial(base.sample, n_steps=IMPUTATION_STEPS, generator=generator)
    return base.impute(energy, batch.v, by)


def draw_units(
    v: Tensor, n_units: int, n_drawn: int | None, generator: Generator | None
) -> Tensor:
    """Units of each case: all, or `n_drawn` at random without repetition."""
    if n_drawn is None or n_drawn >= n_units:
        return torch.arange(n_units, device=v.device).expand(len(v), -1)
    shape = (len(v), n_units)
    order = torch.rand(shape, generator=generator, device=v.device)
    return order.topk(n_drawn, sorted=False).indices


def other_values(
    energy: Energy, v: Float[Tensor, "batch visible"], chosen: Tensor
) -> Float[Tensor, "batch chosen others visible"]:
    """The outputs with one chosen unit at each of its other values."""
    width = energy.visible.width
    values, units = energy.visible.states(v), v.unflatten(-1, (-1, width))
    own = values_of(units.gather(1, chosen[..., None].expand(-1, -1, width)), values)
    others = torch.arange(1, len(values), device=v.device)
    new = values[(own[..., None] + others) % len(values)]
    states = units[:, None, None].repeat(1, chosen.shape[1], len(others), 1, 1)
    place = chosen[:, :, None, None, None].expand(-1, -1, len(others), 1, width)
    return states.scatter_(3, place, new[..., None, :]).flatten(3)


def values_of(units: Float[Tensor, "... width"], values: Tensor) -> Tensor:
    """The place of each unit's value in the list of values."""
    return (units[..., None, :] == values).all(-1).to(torch.uint8).argmax(-1)
