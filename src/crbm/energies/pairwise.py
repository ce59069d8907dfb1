"""Visible units coupled directly to each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from torch import Tensor

from crbm.energies.base import Energy


@dataclass(frozen=True)
class PairwiseEnergy(Energy):
    """The energy of a fully connected CRF whose input is already in the biases.

    E(v) = F(v) = -v b - v W v / 2 with W symmetric and zero on its diagonal: there are
    no hidden units, so the free energy is the energy.

    Parameters
    ----------
    weight
        W, shared by all cases.
    visible_bias
        b, one row per case or a single row for all.
    """

    weight: Float[Tensor, "visible visible"]
    visible_bias: Float[Tensor, "... visible"]

    @property
    def n_visible(self) -> int:
        return self.weight.shape[0]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(
            self.visible_bias.shape[:-1],
            () if self.known is None else self.known.shape[:-1],
        )

    def visible_logits(
        self, v: Float[Tensor, "... visible"]
    ) -> Float[Tensor, "... visible"]:
        """Log-odds of p(v_i = 1 | all other v)."""
        return self.force(v @ self.weight + self.visible_bias)

    def energy(self, v: Float[Tensor, "... visible"]) -> Float[Tensor, ...]:
        """E(v), which is F(v)."""
        return self.free_energy(v)

    def free_energy(self, v: Float[Tensor, "... visible"]) -> Float[Tensor, ...]:
        return -(v * (v @ self.weight / 2 + self.visible_bias)).sum(-1)

    def flip_logits(
        self, v: Float[Tensor, "*states visible"], unit: int
    ) -> Float[Tensor, "*states"]:
        field = v @ self.weight[:, unit] + self.visible_bias[..., unit]
        return self.force(field, unit)

    def lifted(self) -> PairwiseEnergy:
        return replace(
            self,
            visible_bias=self.visible_bias[..., None, :],
            known=None if self.known is None else self.known[..., None, :],
        )

    def expand(self, n_cases: int) -> PairwiseEnergy:
        if self.batch_shape:
            return self
        return replace(self, visible_bias=self.visible_bias.expand(n_cases, -1))

    def scaled(self, beta: float) -> PairwiseEnergy:
        return replace(self, weight=self.weight * beta)

    def tilt(self, logits: Float[Tensor, "*batch visible"]) -> PairwiseEnergy:
        return replace(self, visible_bias=self.visible_bias + logits)

    def start_logits(self) -> Float[Tensor, "*batch visible"]:
        return self.force(self.visible_bias.expand(*self.batch_shape, self.n_visible))
