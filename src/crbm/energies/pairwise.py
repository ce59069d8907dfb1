"""Visible units coupled directly to each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from crbm.energies.base import Energy, FieldGradient
from crbm.energies.statistics import pairwise_phase
from crbm.types import Contrast, Moments, States


@dataclass(frozen=True)
class PairwiseEnergy(Energy):
    """The energy of a fully connected CRF whose input is already in the biases.

    E(v) = F(v) = -v b - v W v / 2 with W symmetric and zero on its diagonal: there are
    no hidden units, so the free energy is the energy. Outputs are binary.

    Parameters
    ----------
    weight
        W, shared by all cases.
    visible_bias
        b, one row per case or a single row for all.
    """

    weight: Float[Tensor, "visible visible"]
    visible_bias: Float[Tensor, "... visible"]

    BATCHED: ClassVar[tuple[str, ...]] = ("visible_bias", "known")

    @property
    def n_visible(self) -> int:
        return self.weight.shape[0]

    @property
    def weight_vv(self) -> Float[Tensor, "visible visible"]:
        return self.weight

    def visible_logits(
        self, v: Float[Tensor, "... visible"]
    ) -> Float[Tensor, "... visible"]:
        """Log-odds of p(v_i = 1 | all other v)."""
        return self.clamp_logits(v @ self.weight + self.visible_bias)

    def energy(self, v: Float[Tensor, "... visible"]) -> Float[Tensor, "..."]:
        """E(v), which is F(v)."""
        return self.free_energy(v)

    def free_energy(self, v: Float[Tensor, "... visible"]) -> Float[Tensor, "..."]:
        return -(v * (v @ self.weight / 2 + self.visible_bias)).sum(-1)

    def flip_logits(
        self, v: Float[Tensor, "*states visible"], unit: int
    ) -> Float[Tensor, "*states"]:
        field = v @ self.weight[:, unit] + self.visible_bias[..., unit]
        return self.clamp_logits(field, unit)

    def tempered(self, beta: float) -> PairwiseEnergy:
        return replace(self, weight=self.weight * beta)

    def tilt(self, field: Float[Tensor, "*batch visible"]) -> PairwiseEnergy:
        return replace(self, visible_bias=self.visible_bias + field)

    def independent_field(self) -> Float[Tensor, "*batch visible"]:
        return self.visible_bias.expand(*self.batch_shape, self.n_visible)

    def detach(self) -> PairwiseEnergy:
        return replace(
            self, weight=self.weight.detach(), visible_bias=self.visible_bias.detach()
        )

    @torch.no_grad()
    def field_gradients(self, contrast: Contrast) -> list[FieldGradient]:
        # dF/dW = -v v / 2 (off the diagonal, which is not a parameter), dF/db = -v.
        positive, products_positive = moment_sums(contrast.positive)
        negative, products_negative = moment_sums(contrast.negative)
        products = (products_negative - products_positive).fill_diagonal_(0) / 2
        by_case, bias = negative - positive, self.visible_bias
        return [
            FieldGradient(self.weight, products),
            FieldGradient(bias, by_case if bias.ndim == 2 else by_case.sum(0)),
        ]


def moment_sums(states: States | Moments) -> tuple[Tensor, Tensor]:
    """E[v] of each case and E[v v] summed over cases."""
    if isinstance(states, Moments):
        return states.v, states.vv.sum(0)
    phase = pairwise_phase(states)
    return phase.mean_v, phase.v.T @ phase.weighted_v
