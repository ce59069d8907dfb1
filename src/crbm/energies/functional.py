"""Any free energy given as a function: what a user's own model conditions to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from torch import Tensor

from crbm.energies.base import Energy


@dataclass(frozen=True)
class FunctionalEnergy(Energy):
    """A free energy F(v, u) held at u.

    Parameters
    ----------
    function
        F, from (n, visible) and (n, inputs) to (n,). It never sees other shapes.
    u
        The inputs, one row per case.
    n_outputs
        The number of visible units.
    beta
        Inverse temperature; F is multiplied by it.
    slope
        Log-odds added to each unit; None adds nothing.
    """

    function: Callable[[Tensor, Tensor], Tensor]
    u: Float[Tensor, "... inputs"]
    n_outputs: int
    beta: float = 1.0
    slope: Float[Tensor, "... visible"] | None = None

    @property
    def n_visible(self) -> int:
        return self.n_outputs

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.u.shape[:-1]

    def free_energy(self, v: Float[Tensor, "... visible"]) -> Float[Tensor, ...]:
        shape = np.broadcast_shapes(v.shape[:-1], self.batch_shape)
        rows = v.expand(*shape, -1).reshape(-1, self.n_visible)
        inputs = self.u.expand(*shape, -1).reshape(len(rows), -1)
        free = self.beta * self.function(rows, inputs).reshape(shape)
        return free if self.slope is None else free - (v * self.slope).sum(-1)

    def lifted(self) -> FunctionalEnergy:
        return replace(
            self,
            u=self.u[..., None, :],
            slope=None if self.slope is None else self.slope[..., None, :],
            known=None if self.known is None else self.known[..., None, :],
        )

    def expand(self, n_cases: int) -> FunctionalEnergy:
        if self.batch_shape:
            return self
        return replace(self, u=self.u.expand(n_cases, -1))

    def scaled(self, beta: float) -> FunctionalEnergy:
        return replace(self, beta=self.beta * beta)

    def tilt(self, logits: Float[Tensor, "*batch visible"]) -> FunctionalEnergy:
        return replace(
            self, slope=logits if self.slope is None else self.slope + logits
        )

    def start_logits(self) -> Float[Tensor, "*batch visible"]:
        # F says nothing about single units before it is asked, so only a tilt speaks.
        zeros = self.u.new_zeros(*self.batch_shape, self.n_visible)
        return self.force(zeros if self.slope is None else zeros + self.slope)
