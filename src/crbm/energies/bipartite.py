"""Visible and hidden units coupled to each other and not among themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from crbm import kernels
from crbm.energies.base import Energy
from crbm.kernels import products
from crbm.types import Evaluated, EvaluatedRows, RowLogits


@dataclass(frozen=True)
class BipartiteEnergy(Energy):
    """The energy of an RBM, or of a CRBM whose input is already in the biases.

    E(v, h) = -v W h - v b - h c, with F(v) = -v b - sum_j softplus(c_j + v W_j)
    [1]_, Eqs. 2, 5, 8 and 10.

    Parameters
    ----------
    weight
        W, shared by all cases.
    visible_bias, hidden_bias
        b and c, one row per case or a single row for all.
    """

    weight: Float[Tensor, "visible hidden"]
    visible_bias: Float[Tensor, "... visible"]
    hidden_bias: Float[Tensor, "... hidden"]

    @property
    def n_visible(self) -> int:
        return self.weight.shape[0]

    @property
    def n_hidden(self) -> int:
        """The number of hidden units."""
        return self.weight.shape[1]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(  # torch's takes fifty times as long
            self.visible_bias.shape[:-1],
            self.hidden_bias.shape[:-1],
            () if self.known is None else self.known.shape[:-1],
        )

    def hidden_logits(
        self, v: Float[Tensor, "... visible"]
    ) -> Float[Tensor, "... hidden"]:
        """Log-odds of p(h_j = 1 | v)."""
        return _affine(v, self.weight, self.hidden_bias)

    def visible_logits(
        self, h: Float[Tensor, "... hidden"]
    ) -> Float[Tensor, "... visible"]:
        """Log-odds of p(v_i = 1 | h)."""
        return self.force(_affine(h, self.weight.T, self.visible_bias))

    def energy(
        self, v: Float[Tensor, "... visible"], h: Float[Tensor, "... hidden"]
    ) -> Float[Tensor, ...]:
        """E(v, h)."""
        coupling = (self.hidden_logits(v) * h).sum(-1)
        return -coupling - (v * self.visible_bias).sum(-1)

    def free_energy(self, v: Float[Tensor, "... visible"]) -> Float[Tensor, ...]:
        """F(v) = -log sum_h exp(-E(v, h))."""
        return self.evaluate(v).free_energy

    def evaluate(self, v: Float[Tensor, "... visible"]) -> Evaluated:
        field = kernels.dots(v, self.visible_bias)
        hidden, means = kernels.softplus_and_means(self.hidden_logits(v))
        return Evaluated(v, -field - hidden, means)

    def evaluate_rows(
        self, table: Float[Tensor, "rows visible"], ids: Int[Tensor, "batch states"]
    ) -> EvaluatedRows:
        # Both products run once per distinct row, not once per case and candidate.
        by_case = self.hidden_bias.expand(len(ids), -1).contiguous()
        logits = RowLogits(table @ self.weight, by_case)
        fields = self.visible_bias @ table.T
        field = fields.expand(len(ids), -1).gather(1, ids)  # refuses ids of no row
        hidden = kernels.softplus_of_rows(logits, ids)
        return EvaluatedRows(-field - hidden, logits)

    def lowered(self) -> BipartiteEnergy:
        return replace(self, weight=self.weight.to(torch.bfloat16))

    def lifted(self) -> BipartiteEnergy:
        return replace(
            self,
            visible_bias=self.visible_bias[..., None, :],
            hidden_bias=self.hidden_bias[..., None, :],
            known=None if self.known is None else self.known[..., None, :],
        )

    def expand(self, n_cases: int) -> BipartiteEnergy:
        if self.batch_shape:
            return self
        return replace(
            self,
            visible_bias=self.visible_bias.expand(n_cases, -1),
            hidden_bias=self.hidden_bias.expand(n_cases, -1),
        )

    def scaled(self, beta: float) -> BipartiteEnergy:
        return replace(
            self, weight=self.weight * beta, hidden_bias=self.hidden_bias * beta
        )

    def tilt(self, logits: Float[Tensor, "*batch visible"]) -> BipartiteEnergy:
        return replace(self, visible_bias=self.visible_bias + logits)

    def start_logits(self) -> Float[Tensor, "*batch visible"]:
        logits = self.visible_bias.expand(*self.batch_shape, self.n_visible)
        return self.force(logits)


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """X W + b, in one call where the shapes allow it; the product as precise as W."""
    if weight.dtype != x.dtype:
        return (x.to(weight.dtype) @ weight).to(x.dtype) + bias
    if x.ndim == 2 and bias.ndim <= 2:
        return products.affine(x, weight, bias)
    return x @ weight + bias
