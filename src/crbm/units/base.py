"""The interface of all kinds of units."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor

from crbm import checks, kernels
from crbm.kernels import RowLogits
from crbm.sampling import Source

Numbers = Float[Tensor, "... numbers"]
Sums = Float[Tensor, "..."]


MOST_BITS = 1024  # 2 to this power overflows a float


class Units(ABC):
    """One kind of unit; a layer of them is a flat vector of numbers.

    A subclass defines the abstract methods. The contract is that `mean` is the gradient
    of `log_partition`; `tests/test_units.py` checks it for every subclass.

    Attributes
    ----------
    width
        Numbers per unit: 1, or the number of values of a categorical unit.
    """

    width: int = 1

    @abstractmethod
    def log_partition(self, field: Numbers, known: Numbers | None = None) -> Sums:
        """Log of the sum over s of exp(s . field + log_base(s)), over all units.

        Units whose value is `known` (NaN where it is not) are not summed over.
        """

    @abstractmethod
    def mean(self, field: Numbers, known: Numbers | None = None) -> Numbers:
        """E[s] given the field; known units have their value."""

    @abstractmethod
    def sample(
        self, field: Numbers, source: Source = None, known: Numbers | None = None
    ) -> Numbers:
        """Independent samples given the field; known units have their value."""

    @abstractmethod
    def sample_mean(self, mean: Numbers, source: Source = None) -> Numbers:
        """Independent samples of units with these means."""

    @abstractmethod
    def entropy(self, mean: Numbers) -> Sums:
        """Entropy of units with these means, relative to the base measure.

        It is the minimum over fields x of log_partition(x) - mean . x - log_base(mean),
        which makes -F(mean) + entropy(mean) a lower bound on log Z.
        """

    @abstractmethod
    def log_losses(
        self, mean: Numbers, truth: Numbers, least: float = 0.0
    ) -> Float[Tensor, "... units"]:
        """-log p(truth) of each unit under these means, NaN where it is unknown.

        Probabilities count as at least `least`.
        """

    @abstractmethod
    def errors(self, mean: Numbers, truth: Numbers) -> Float[Tensor, "... units"]:
        """The error of each unit's prediction, NaN where the truth is unknown.

        0 or 1 for discrete units, the squared error for real values.
        """

    @abstractmethod
    def states(self, like: Tensor) -> Float[Tensor, "values width"]:
        """All values of one unit, for enumeration; units without a list refuse."""

    @abstractmethod
    def check(self, name: str, s: Numbers, *, missing: bool = False) -> None:
        """Refuse values that units of this kind cannot have."""

    def check_mean(self, name: str, mean: Numbers) -> None:
        """Refuse numbers that are not means of such units."""
        checks.finite(name, mean)

    def round(self, mean: Numbers) -> Numbers:
        """The likeliest values of units with these means; the mean of a real unit."""
        return mean

    def log_base(self, s: Numbers) -> Sums | float:
        """Log of the base measure at s; 0 where all values count alike."""
        return 0.0

    @property
    def is_finite(self) -> bool:
        """Whether a unit has a finite list of values."""
        return True

    def layer(self, n_numbers: int) -> tuple[tuple[Units, int], ...]:
        """A layer as runs of numbers of one kind each; one run unless mixed."""
        return ((self, n_numbers),)

    def n_units(self, n_numbers: int) -> int:
        """The number of units of a layer."""
        return sum(size // kind.width for kind, size in self.layer(n_numbers))

    def n_bits(self, n_numbers: int) -> float:
        """Log2 of the number of states of a layer; infinite where there is no list."""
        if not self.is_finite:
            return math.inf
        return sum(
            math.log2(len(kind.states(torch.empty(0)))) * (size // kind.width)
            for kind, size in self.layer(n_numbers)
        )

    def n_states(self, n_numbers: int) -> float:
        """The number of states of a layer; infinite where there is no list.

        Also infinite where a float cannot hold it: from 1,024 binary units on.
        """
        if self.n_bits(n_numbers) >= MOST_BITS:
            return math.inf
        counts = (
            len(kind.states(torch.empty(0))) ** (size // kind.width)
            for kind, size in self.layer(n_numbers)
        )
        return float(math.prod(counts))

    def check_size(self, name: str, n_numbers: int) -> None:
        """Refuse a layer that does not hold a whole number of units."""
        if n_numbers % self.width:
            raise ValueError(
                f"`{name}` counts numbers and must be a multiple of {self.width} for "
                f"{self!r}; got {n_numbers}."
            )

    def hamming(self, s: Numbers, truth: Numbers) -> Sums:
        """The number of units whose value differs from the truth."""
        raise TypeError(self._no_hamming())

    def hamming_slope(self, truth: Numbers) -> Numbers:
        """The Hamming loss is linear in s: its slope."""
        raise TypeError(self._no_hamming())

    def _no_hamming(self) -> str:
        return (
            f"{type(self).__name__} outputs have no Hamming loss, which max margin "
            "needs. Use Perceptron or ContrastiveDivergence for them."
        )

    @abstractmethod
    def starting_field(
        self, total: Float[Tensor, " numbers"], count: Float[Tensor, " numbers"]
    ) -> Float[Tensor, " numbers"]:
        """The field at which `count` values that sum to `total` are likely."""

    def log_partition_and_mean(self, field: Numbers) -> tuple[Sums, Numbers]:
        """Both at once; the memory of `field` may be reused."""
        return self.log_partition(field), self.mean(field)

    def mean_(self, field: Numbers, known: Numbers | None = None) -> Numbers:
        """`mean`, which may reuse the memory of `field`."""
        return self.mean(field, known)

    def sample_(
        self, field: Numbers, source: Source = None, known: Numbers | None = None
    ) -> Numbers:
        """`sample`, which may reuse the memory of `field`."""
        return self.sample(field, source, known)

    def log_partition_of_rows(
        self, fields: RowLogits, ids: Int[Tensor, "batch states"]
    ) -> Float[Tensor, "batch states"]:
        """`log_partition` for the rows `ids` of a shared table."""
        parts = [self.log_partition(x) for x, _ in kernels.row_blocks(fields, ids)]
        return torch.cat(parts)

    def means_of_rows(
        self,
        fields: RowLogits,
        ids: Int[Tensor, "batch states"],
        weight: Float[Tensor, "batch states"],
    ) -> tuple[Float[Tensor, "rows numbers"], Float[Tensor, "batch numbers"]]:
        """Sums of weighted means: by row over all cases, by case over its rows."""
        return kernels.mean_sums(self.mean, fields, ids, weight)
