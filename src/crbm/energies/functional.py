"""Any free energy given as a function: what a user's own model conditions to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from crbm.energies.base import Energy, FieldGradient, refuse_moments
from crbm.types import Contrast, Moments, States


@dataclass(frozen=True)
class FunctionalEnergy(Energy):
    """A free energy F(v, u) of binary outputs held at u.

    Parameters
    ----------
    function
        F, from (n, visible) and (n, inputs) to (n,). It never receives other shapes.
    u
        The inputs, one row per case.
    n_outputs
        The number of visible units.
    beta
        Inverse temperature; F is multiplied by it.
    slope
        Field added to each unit; None adds nothing.
    """

    function: Callable[[Tensor, Tensor], Tensor]
    u: Float[Tensor, "... inputs"]
    n_outputs: int
    beta: float = 1.0
    slope: Float[Tensor, "... visible"] | None = None

    BATCHED: ClassVar[tuple[str, ...]] = ("u", "slope", "known")

    @property
    def n_visible(self) -> int:
        return self.n_outputs

    def free_energy(self, v: Float[Tensor, "... visible"]) -> Float[Tensor, "..."]:
        shape = np.broadcast_shapes(v.shape[:-1], self.u.shape[:-1])
        rows = v.expand(*shape, -1).reshape(-1, self.n_visible)
        inputs = self.u.expand(*shape, -1).reshape(len(rows), -1)
        free = self.beta * self.function(rows, inputs).reshape(shape)
        return free if self.slope is None else free - (v * self.slope).sum(-1)

    def tempered(self, beta: float) -> FunctionalEnergy:
        return replace(self, beta=self.beta * beta)

    def tilt(self, field: Float[Tensor, "*batch visible"]) -> FunctionalEnergy:
        return replace(self, slope=field if self.slope is None else self.slope + field)

    def independent_field(self) -> Float[Tensor, "*batch visible"]:
        # F does not separate a field from the couplings, so only a tilt counts.
        zeros = self.u.new_zeros(*self.batch_shape, self.n_visible)
        return zeros if self.slope is None else zeros + self.slope

    def detach(self) -> FunctionalEnergy:
        def without_history(v: Tensor, u: Tensor) -> Tensor:
            with torch.no_grad():
                return self.function(v, u)

        return replace(self, function=without_history)

    def field_gradients(self, contrast: Contrast) -> list[FieldGradient]:
        # F is one number per state: the contrast itself is the field, its slope 1.
        with torch.enable_grad():
            gap = self._sum(contrast.positive) - self._sum(contrast.negative)
        return [FieldGradient(gap, torch.ones_like(gap))]

    def _sum(self, states: States | Moments) -> Tensor:
        """The weighted sum of F over states."""
        states = refuse_moments(self, states)
        free = self.expand(states.n_cases).evaluate_states(states).free_energy
        return (free if states.weight is None else free * states.weight).sum()
