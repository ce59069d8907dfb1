"""What inference may ask of an energy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from crbm import checks, sampling
from crbm.types import Evaluated, EvaluatedRows

Kind = TypeVar("Kind", bound="Energy")


@dataclass(frozen=True, kw_only=True)
class Energy(ABC):
    """A distribution p(v) proportional to exp(-F(v)): u is already absorbed.

    Known outputs are absorbed the same way: `clamp` returns an energy whose log-odds
    are infinite at the known units, so inference never learns that clamps exist.

    Parameters
    ----------
    known
        0 or 1 where an output is known, NaN where it is free; None when all are free.
    driven
        Whether the visible biases depend on an input: where a search starts.
    """

    known: Float[Tensor, "... visible"] | None = None
    driven: bool = False

    @property
    @abstractmethod
    def n_visible(self) -> int:
        """The number of outputs."""

    @property
    @abstractmethod
    def batch_shape(self) -> tuple[int, ...]:
        """(batch,) after conditioning on inputs, () without any."""

    @abstractmethod
    def free_energy(self, v: Float[Tensor, "... visible"]) -> Float[Tensor, ...]:
        """F(v) for states whose leading dimensions broadcast with the batch."""

    @abstractmethod
    def lifted(self) -> Energy:
        """The same energies with room for several states per case in dimension -2."""

    @abstractmethod
    def expand(self, n_cases: int) -> Energy:
        """An unbatched energy repeated for `n_cases` cases; a batched one as it is."""

    @abstractmethod
    def scaled(self, beta: float) -> Energy:
        """The energy with its couplings scaled: independent units at 0, itself at 1."""

    @abstractmethod
    def tilt(self, logits: Float[Tensor, "*batch visible"]) -> Energy:
        """The energy F(v) - v logits: each unit more likely by its log-odds."""

    @abstractmethod
    def start_logits(self) -> Float[Tensor, "*batch visible"]:
        """Log-odds of v from the input alone, before any coupling speaks."""

    def lowered(self) -> Energy:
        """The energy with its matrix products in bfloat16, where it has large ones."""
        return self

    def evaluate(self, v: Float[Tensor, "... visible"]) -> Evaluated:
        """The states with their free energy and what it was computed from."""
        return Evaluated(v, self.free_energy(v))

    def evaluate_rows(
        self, table: Float[Tensor, "rows visible"], ids: Int[Tensor, "batch states"]
    ) -> EvaluatedRows:
        """Rows of a shared table, `ids` per case, evaluated: (batch, states)."""
        return EvaluatedRows(self.lifted().free_energy(table[ids]))

    def flip_logits(
        self, v: Float[Tensor, "*states visible"], unit: int
    ) -> Float[Tensor, "*states"]:
        """Log-odds that one unit is 1 given all the others."""
        off, on = v.clone(), v.clone()
        off[..., unit], on[..., unit] = 0, 1
        return self.force(self.free_energy(off) - self.free_energy(on), unit)

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
        checks.binary("known", known, missing=True)
        return replace(self, known=known)

    def force(
        self, logits: Float[Tensor, ...], unit: int | None = None
    ) -> Float[Tensor, ...]:
        """The log-odds with those of known units made infinite."""
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
        """Where a search begins [1]_, Section 6.2.

        The logistic-regression part of the model where inputs drive the outputs;
        otherwise fair coins, or their mean when no generator is given.
        """
        logits = self.start_logits()
        if self.driven:
            return logits.sigmoid()
        if generator is None:
            coins = torch.full_like(logits, 0.5)
        else:
            coins = sampling.fair_coins(logits, generator)
        if self.known is None:
            return coins
        return torch.where(self.known.isnan(), coins, self.known)
