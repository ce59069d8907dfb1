"""Layers of several kinds of units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from crbm import checks
from crbm.sampling import Source
from crbm.units.base import Numbers, Sums, Units


@dataclass(frozen=True)
class Mixed(Units):
    """A layer of several kinds of units, one run of numbers after the other.

    Parameters
    ----------
    parts
        A kind and how many numbers of the layer it has, for each run.

    Examples
    --------
    Three classes and two real values:

    >>> from crbm.units import Categorical, Gaussian
    >>> kinds = Mixed(((Categorical(3), 3), (Gaussian(), 2)))
    >>> kinds.mean(torch.tensor([0.0, 0.0, 0.0, 0.5, -2.0]))
    tensor([ 0.3333,  0.3333,  0.3333,  0.5000, -2.0000])
    """

    parts: tuple[tuple[Units, int], ...]

    def __post_init__(self) -> None:
        for kind, size in self.parts:
            checks.whole_number("parts", size, at_least=1)
            kind.check_size("parts", size)

    @property
    def _sizes(self) -> list[int]:
        return [size for _, size in self.parts]

    def _split(self, numbers: Numbers | None) -> list[Any]:
        if numbers is None:
            return [None] * len(self.parts)
        return list(numbers.split(self._sizes, -1))

    def _each(self, name: str, *numbers: Numbers | None, **options: Any) -> list[Any]:
        """The result of a method of each kind for its numbers."""
        runs = zip(*(self._split(x) for x in numbers), strict=True)
        return [
            getattr(kind, name)(*own, **options)
            for (kind, _), own in zip(self.parts, runs, strict=True)
        ]

    def log_partition(self, field: Numbers, known: Numbers | None = None) -> Sums:
        return torch.stack(self._each("log_partition", field, known)).sum(0)

    def mean(self, field: Numbers, known: Numbers | None = None) -> Numbers:
        return torch.cat(self._each("mean", field, known), -1)

    def sample(
        self, field: Numbers, source: Source = None, known: Numbers | None = None
    ) -> Numbers:
        drawn = [
            kind.sample(own, source, fixed)
            for (kind, _), own, fixed in zip(
                self.parts, self._split(field), self._split(known), strict=True
            )
        ]
        return torch.cat(drawn, -1)

    def sample_mean(self, mean: Numbers, source: Source = None) -> Numbers:
        return torch.cat(self._each("sample_mean", mean, source=source), -1)

    def log_base(self, s: Numbers) -> Sums | float:
        found = sum(self._each("log_base", s))
        return found if isinstance(found, Tensor) else 0.0

    def round(self, mean: Numbers) -> Numbers:
        return torch.cat(self._each("round", mean), -1)

    def entropy(self, mean: Numbers) -> Sums:
        return torch.stack(self._each("entropy", mean)).sum(0)

    def log_losses(
        self, mean: Numbers, truth: Numbers, least: float = 0.0
    ) -> Float[Tensor, "... units"]:
        return torch.cat(self._each("log_losses", mean, truth, least=least), -1)

    def errors(self, mean: Numbers, truth: Numbers) -> Float[Tensor, "... units"]:
        return torch.cat(self._each("errors", mean, truth), -1)

    @property
    def is_finite(self) -> bool:
        return all(kind.is_finite for kind, _ in self.parts)

    def layer(self, n_numbers: int) -> tuple[tuple[Units, int], ...]:
        return self.parts

    def states(self, like: Tensor) -> Float[Tensor, "values width"]:
        raise TypeError(
            "Mixed units differ in their values, so there is no list for one unit. "
            "Ask each kind of `layer`."
        )

    def check(self, name: str, s: Numbers, *, missing: bool = False) -> None:
        for (kind, _), own in zip(self.parts, self._split(s), strict=True):
            kind.check(name, own, missing=missing)

    def check_mean(self, name: str, mean: Numbers) -> None:
        for (kind, _), own in zip(self.parts, self._split(mean), strict=True):
            kind.check_mean(name, own)

    def check_size(self, name: str, n_numbers: int) -> None:
        if n_numbers != sum(self._sizes):
            raise ValueError(
                f"`{name}` must be {sum(self._sizes)}, the numbers of all parts of "
                f"{self!r}; got {n_numbers}."
            )

    def hamming(self, s: Numbers, truth: Numbers) -> Sums:
        return torch.stack(self._each("hamming", s, truth)).sum(0)

    def hamming_slope(self, truth: Numbers) -> Numbers:
        return torch.cat(self._each("hamming_slope", truth), -1)

    def starting_field(
        self, total: Float[Tensor, " numbers"], count: Float[Tensor, " numbers"]
    ) -> Float[Tensor, " numbers"]:
        return torch.cat(self._each("starting_field", total, count), -1)
