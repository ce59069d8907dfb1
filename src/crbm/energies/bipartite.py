"""Visible and hidden units coupled to each other and not among themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from crbm import kernels
from crbm.energies.base import Energy, FieldGradient, refuse_moments
from crbm.energies.couplings import Coupling
from crbm.energies.statistics import BipartitePhase, bipartite_phase, table_phase
from crbm.kernels import RowLogits
from crbm.sampling import Source
from crbm.types import Contrast, Evaluated, EvaluatedRows, Moments, States
from crbm.units import BERNOULLI, Units


@dataclass(frozen=True)
class BipartiteEnergy(Energy):
    """The energy of an RBM, or of a CRBM whose input is already in the biases.

    E(v, h) = -v W h - v b - h c - log_base(v) - log_base(h) [1]_, Eqs. 2 and 8. With
    binary units F(v) = -v b - sum_j softplus(c_j + v W_j), Eqs. 5 and 10.

    Parameters
    ----------
    coupling
        W, shared by all cases, e.g. `Dense(weight)`.
    visible_bias, hidden_bias
        b and c, one row per case or a single row for all.
    visible, hidden
        The kinds of units; binary unless given.
    """

    coupling: Coupling
    visible_bias: Float[Tensor, "... visible"]
    hidden_bias: Float[Tensor, "... hidden"]
    visible: Units = BERNOULLI
    hidden: Units = BERNOULLI

    BATCHED: ClassVar[tuple[str, ...]] = ("visible_bias", "hidden_bias", "known")

    @property
    def weight(self) -> Tensor:
        """The weights of the coupling."""
        return self.coupling.weight

    @property
    def n_visible(self) -> int:
        return self.visible_bias.shape[-1]

    @property
    def n_hidden(self) -> int:
        return self.hidden_bias.shape[-1]

    @property
    def is_independent(self) -> bool:
        return self.n_hidden == 0

    def hidden_field(
        self, v: Float[Tensor, "... visible"]
    ) -> Float[Tensor, "... hidden"]:
        """What the hidden units receive from v and from u."""
        return self.coupling.up(v, self.hidden_bias)

    def visible_field(
        self, h: Float[Tensor, "... hidden"]
    ) -> Float[Tensor, "... visible"]:
        """What the visible units receive from h and from u."""
        return self.coupling.down(h, self.visible_bias)

    def hidden_logits(
        self, v: Float[Tensor, "... visible"]
    ) -> Float[Tensor, "... hidden"]:
        """Log-odds of p(h_j = 1 | v), for binary hidden units."""
        return self.hidden_field(v)

    def visible_logits(
        self, h: Float[Tensor, "... hidden"]
    ) -> Float[Tensor, "... visible"]:
        """Log-odds of p(v_i = 1 | h), for binary outputs; infinite at known ones."""
        return self.clamp_logits(self.visible_field(h))

    def hidden_mean(
        self, v: Float[Tensor, "... visible"], cache: Tensor | None = None
    ) -> Float[Tensor, "... hidden"]:
        """E[h | v]; `cache` is that of `evaluate(v)`, where it was called before."""
        return self.hidden.mean_(self.hidden_field(v)) if cache is None else cache

    def visible_mean(
        self, h: Float[Tensor, "... hidden"]
    ) -> Float[Tensor, "... visible"]:
        """E[v | h]; known outputs have their value."""
        return self.visible.mean_(self.visible_field(h), self.known)

    def sample_hidden(
        self,
        v: Float[Tensor, "... visible"],
        source: Source = None,
        cache: Tensor | None = None,
    ) -> Float[Tensor, "... hidden"]:
        """A sample of h given v; `cache` as in `hidden_mean`."""
        if cache is None:
            return self.hidden.sample_(self.hidden_field(v), source)
        return self.hidden.sample_mean(cache, source)

    def sample_visible(
        self, h: Float[Tensor, "... hidden"], source: Source = None
    ) -> Float[Tensor, "... visible"]:
        """A sample of v given h; known outputs have their value."""
        return self.visible.sample_(self.visible_field(h), source, self.known)

    def energy(
        self, v: Float[Tensor, "... visible"], h: Float[Tensor, "... hidden"]
    ) -> Float[Tensor, "..."]:
        """E(v, h)."""
        coupling = (self.hidden_field(v) * h).sum(-1) + (v * self.visible_bias).sum(-1)
        return -coupling - self.visible.log_base(v) - self.hidden.log_base(h)

    def free_energy(self, v: Float[Tensor, "... visible"]) -> Float[Tensor, "..."]:
        """F(v) = -log sum_h exp(-E(v, h))."""
        return self.evaluate(v).free_energy

    def evaluate(self, v: Float[Tensor, "... visible"]) -> Evaluated:
        field = _add_base(kernels.dots(v, self.visible_bias), self.visible.log_base(v))
        hidden, means = self.hidden.log_partition_and_mean(self.hidden_field(v))
        return Evaluated(v, -field - hidden, means)

    def with_state_axis(self) -> BipartiteEnergy:
        return replace(
            super().with_state_axis(), coupling=self.coupling.with_state_axis()
        )

    def evaluate_rows(
        self, table: Float[Tensor, "rows visible"], ids: Int[Tensor, "batch states"]
    ) -> EvaluatedRows:
        if not self.coupling.is_shared:
            return super().evaluate_rows(table, ids)
        # Both products run once per distinct row, not once per case and candidate.
        by_case = self.hidden_bias.expand(len(ids), -1).contiguous()
        fields = RowLogits(self.coupling.up(table), by_case)
        by_row = _add_base(self.visible_bias @ table.T, self.visible.log_base(table))
        field = by_row.expand(len(ids), -1).gather(1, ids)  # refuses ids of no row
        hidden = self.hidden.log_partition_of_rows(fields, ids)
        return EvaluatedRows(-field - hidden, fields)

    def in_precision(self, dtype: torch.dtype) -> BipartiteEnergy:
        return replace(self, coupling=self.coupling.in_precision(dtype))

    def tempered(self, beta: float) -> BipartiteEnergy:
        coupling = self.coupling.tempered(beta)
        return replace(self, coupling=coupling, hidden_bias=self.hidden_bias * beta)

    def tilt(self, field: Float[Tensor, "*batch visible"]) -> BipartiteEnergy:
        return replace(self, visible_bias=self.visible_bias + field)

    def independent_field(self) -> Float[Tensor, "*batch visible"]:
        return self.visible_bias.expand(*self.batch_shape, self.n_visible)

    def detach(self) -> BipartiteEnergy:
        return replace(
            self,
            coupling=self.coupling.detach(),
            visible_bias=self.visible_bias.detach(),
            hidden_bias=self.hidden_bias.detach(),
        )

    def phase(self, states: States | Moments) -> BipartitePhase:
        """Sums of v, h and v h over the states of one phase."""
        states = refuse_moments(self, states)
        if states.ids is not None and not self.coupling.is_shared:
            states = States(states.v[states.ids], states.weight)
        if states.cache is None:
            cache = self.expand(states.n_cases).evaluate_states(states).cache
            states = states._replace(cache=cache)
        if states.ids is not None:
            return table_phase(states, states.cache, self.hidden)
        return bipartite_phase(states, states.cache)

    @torch.no_grad()
    def field_gradients(self, contrast: Contrast) -> list[FieldGradient]:
        # dF/dW = -v h, dF/db = -v and dF/dc = -h, with h its mean given v.
        positive, negative = (
            self.phase(contrast.positive),
            self.phase(contrast.negative),
        )
        coupling = self.coupling.product(negative.v, negative.weighted_h)
        coupling -= self.coupling.product(positive.v, positive.weighted_h)
        return [
            FieldGradient(self.weight, coupling),
            _bias_gradient(self.visible_bias, negative.mean_v - positive.mean_v),
            _bias_gradient(self.hidden_bias, negative.mean_h - positive.mean_h),
        ]


def _add_base(field: Tensor, base: Tensor | float) -> Tensor:
    """Add the log of the base measure; most kinds of units have none."""
    return field + base if isinstance(base, Tensor) else field


def _bias_gradient(bias: Tensor, by_case: Tensor) -> FieldGradient:
    """The gradient of a bias per case, or of one bias for all cases."""
    return FieldGradient(bias, by_case if bias.ndim == 2 else by_case.sum(0))
