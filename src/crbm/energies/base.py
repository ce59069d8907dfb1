"""The interface of energies, which inference and training use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from crbm import checks
from crbm.types import Contrast, Evaluated, EvaluatedRows, Moments, States
from crbm.units import BERNOULLI, Units

Kind = TypeVar("Kind", bound="Energy")

NEEDS_STATES = (
    "{energy} needs states for its gradient, but the objective names moments, which "
    "serve only a CRF. Use an objective that names states, e.g. ContrastiveDivergence."
)


class FieldGradient(NamedTuple):
    """A tensor that F depends on, and the gradient of a contrast with respect to it."""

    field: Tensor
    gradient: Tensor


@dataclass(frozen=True, kw_only=True)
class Energy(ABC):
    """A distribution p(v) proportional to exp(-F(v)), with u already absorbed.

    Known outputs are absorbed the same way: `clamp` returns an energy whose known units
    keep their value, so that inference need not treat them specially.

    Parameters
    ----------
    known
        The value of an output where it is known, NaN where it is free; None when all
        are free.
    has_visible_input
        Whether the visible biases depend on an input: where a search starts.
    """

    known: Float[Tensor, "... visible"] | None = None
    has_visible_input: bool = False

    BATCHED: ClassVar[tuple[str, ...]] = ("known",)

    @property
    @abstractmethod
    def n_visible(self) -> int:
        """The number of outputs."""

    @abstractmethod
    def free_energy(self, v: Float[Tensor, "... visible"]) -> Float[Tensor, "..."]:
        """F(v) for states whose leading dimensions broadcast with the batch."""

    @abstractmethod
    def tempered(self, beta: float) -> Energy:
        """The energy with its couplings scaled: independent units at 0, itself at 1."""

    @abstractmethod
    def tilt(self, field: Float[Tensor, "*batch visible"]) -> Energy:
        """The energy F(v) - v . field: each unit receives an additional field."""

    @abstractmethod
    def independent_field(self) -> Float[Tensor, "*batch visible"]:
        """The field of v given u with all couplings zero."""

    @abstractmethod
    def field_gradients(self, contrast: Contrast) -> list[FieldGradient]:
        """The gradient of a contrast with respect to the tensors F depends on.

        A model turns these into gradients of its parameters, whatever computed the
        tensors.
        """

    @abstractmethod
    def detach(self: Kind) -> Kind:
        """The energy without its autograd history."""

    @property
    def visible(self) -> Units:
        """The kind of output."""
        return BERNOULLI

    @property
    def hidden(self) -> Units | None:
        """The kind of hidden unit given which the outputs are independent, if any.

        Without one, Gibbs sampling and mean field update one output at a time.
        """
        return None

    @property
    def weight_vv(self) -> Float[Tensor, "visible visible"] | None:
        """The couplings between pairs of outputs, where F is quadratic in v."""
        return None

    @property
    def is_independent(self) -> bool:
        """Whether the outputs are independent given the input."""
        return False

    @property
    def n_hidden(self) -> int:
        """The number of hidden units."""
        return 0

    def _batched(self) -> dict[str, Tensor]:
        """The tensors with one row per case, or one for all cases."""
        tensors = {name: getattr(self, name) for name in self.BATCHED}
        return {name: x for name, x in tensors.items() if x is not None}

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """(batch,) after conditioning on inputs, () without any."""
        tensors = (getattr(self, name) for name in self.BATCHED)
        # torch.broadcast_shapes takes fifty times as long
        return np.broadcast_shapes(*(x.shape[:-1] for x in tensors if x is not None))

    def with_state_axis(self: Kind) -> Kind:
        """The same energies with room for several states per case in dimension -2."""
        tensors: dict[str, Any] = self._batched()
        return replace(self, **{name: x[..., None, :] for name, x in tensors.items()})

    def expand(self: Kind, n_cases: int) -> Kind:
        """An unbatched energy repeated for `n_cases` cases; a batched one unchanged."""
        if self.batch_shape:
            return self
        tensors: dict[str, Any] = self._batched()
        shape = (n_cases, -1)
        return replace(self, **{name: x.expand(shape) for name, x in tensors.items()})

    def in_precision(self, dtype: torch.dtype) -> Energy:
        """The energy with its matrix products in another precision, if it has any."""
        return self

    def evaluate(self, v: Float[Tensor, "... visible"]) -> Evaluated:
        """The states with their free energy and what it was computed from."""
        return Evaluated(v, self.free_energy(v))

    def evaluate_rows(
        self, table: Float[Tensor, "rows visible"], ids: Int[Tensor, "batch states"]
    ) -> EvaluatedRows:
        """Rows of a shared table, `ids` per case, evaluated: (batch, states)."""
        return EvaluatedRows(self.with_state_axis().free_energy(table[ids]))

    def evaluate_states(self, states: States) -> Evaluated | EvaluatedRows:
        """F of states in any of their forms, and what it was computed from."""
        if states.ids is not None:
            return self.evaluate_rows(states.v, states.ids)
        energy = self if states.v.ndim == 2 else self.with_state_axis()
        return energy.evaluate(states.v)

    def flip_logits(
        self, v: Float[Tensor, "*states visible"], unit: int
    ) -> Float[Tensor, "*states"]:
        """Log-odds that one binary unit is 1 given all the others."""
        off, on = v.clone(), v.clone()
        off[..., unit], on[..., unit] = 0, 1
        return self.clamp_logits(self.free_energy(off) - self.free_energy(on), unit)

    def clamp(self: Kind, known: Float[Tensor, "*batch visible"] | None) -> Kind:
        """The distribution given that some outputs are known (NaN where they are not).

        Examples
        --------
        >>> import crbm, torch
        >>> known = torch.tensor([1.0, 0.0, torch.nan])
        >>> energy = crbm.RBM(3, 2).condition().clamp(known)
        >>> energy.visible_logits(torch.zeros(2))[:2].tolist()
        [inf, -inf]
        """
        if known is None:
            return self
        checks.columns("known", known, self.n_visible, "output")
        self.visible.check("known", known, missing=True)
        return replace(self, known=known)

    def clamp_logits(
        self, logits: Float[Tensor, "..."], unit: int | None = None
    ) -> Float[Tensor, "..."]:
        """The log-odds of binary units, infinite at those that are known."""
        if self.known is None:
            return logits
        known = self.known if unit is None else self.known[..., unit]
        certain = torch.where(known > 0.5, torch.inf, -torch.inf).to(logits)
        return torch.where(known.isnan(), logits, certain)

    def allows(self, v: Float[Tensor, "... visible"]) -> Tensor | bool:
        """Whether states agree with the known outputs."""
        if self.known is None:
            return True
        return (self.known.isnan() | (self.known == v)).all(-1)

    def start(
        self, generator: Generator | None = None
    ) -> Float[Tensor, "*batch visible"]:
        """The initial state of a search [1]_, Section 6.2.

        If the model has u-v connections, the means of the outputs given u with all
        couplings zero. Otherwise samples of units without a field (fair coins for
        binary units), or their means if no generator is given.
        """
        field = self.independent_field()
        if self.has_visible_input:
            return self.visible.mean(field, self.known)
        if generator is None:
            return self.visible.mean(torch.zeros_like(field), self.known)
        return self.visible.sample_(torch.zeros_like(field), generator, self.known)


def refuse_moments(energy: Energy, states: States | Moments) -> States:
    """The states; moments are refused."""
    if isinstance(states, Moments):
        raise TypeError(NEEDS_STATES.format(energy=type(energy).__name__))
    return states
