"""Binary, categorical and real units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import softplus

from crbm import checks, kernels, sampling
from crbm.kernels import RowLogits
from crbm.sampling import Source
from crbm.units.base import Numbers, Sums, Units

# What `crbm.units` exports; a new kind is added here.
__all__ = ["BERNOULLI", "Bernoulli", "Categorical", "Gaussian"]

# From this size on, torch's softmax of short groups is six times as slow as its parts.
LARGE = 2**16
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Bernoulli(Units):
    """A binary unit: s is 0 or 1 and the field its log-odds.

    Examples
    --------
    >>> Bernoulli().mean(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def log_partition(self, field: Numbers, known: Numbers | None = None) -> Sums:
        each = softplus(field)
        if known is not None:
            each = torch.where(known.isnan(), each, known.nan_to_num() * field)
        return each.sum(-1)

    def mean(self, field: Numbers, known: Numbers | None = None) -> Numbers:
        return _with_known(field.sigmoid(), known)

    def mean_(self, field: Numbers, known: Numbers | None = None) -> Numbers:
        return _with_known(field.sigmoid_(), known)

    def sample(
        self, field: Numbers, source: Source = None, known: Numbers | None = None
    ) -> Numbers:
        return _with_known(sampling.from_logits(field, source), known)

    def sample_(
        self, field: Numbers, source: Source = None, known: Numbers | None = None
    ) -> Numbers:
        return _with_known(sampling.from_logits_(field, source), known)

    def sample_mean(self, mean: Numbers, source: Source = None) -> Numbers:
        return sampling.bernoulli(mean, source)

    def entropy(self, mean: Numbers) -> Sums:
        return (torch.special.entr(mean) + torch.special.entr(1 - mean)).sum(-1)

    def log_losses(
        self, mean: Numbers, truth: Numbers, least: float = 0.0
    ) -> Float[Tensor, "... units"]:
        p = torch.where(truth > 0.5, mean, 1 - mean)
        return torch.where(truth.isnan(), truth, -_log(p, least))

    def round(self, mean: Numbers) -> Numbers:
        return (mean > 0.5).to(mean.dtype)

    def errors(self, mean: Numbers, truth: Numbers) -> Float[Tensor, "... units"]:
        differs = ((mean > 0.5) != (truth > 0.5)).to(mean)
        return torch.where(truth.isnan(), truth, differs)

    def states(self, like: Tensor) -> Float[Tensor, "values width"]:
        return torch.tensor([[0.0], [1.0]]).to(like)

    def check(self, name: str, s: Numbers, *, missing: bool = False) -> None:
        checks.binary(name, s, missing=missing)

    def check_mean(self, name: str, mean: Numbers) -> None:
        checks.within_unit(name, mean)

    def hamming(self, s: Numbers, truth: Numbers) -> Sums:
        return (s - truth).abs().sum(-1)

    def hamming_slope(self, truth: Numbers) -> Numbers:
        return 1 - 2 * truth

    def starting_field(
        self, total: Float[Tensor, " numbers"], count: Float[Tensor, " numbers"]
    ) -> Float[Tensor, " numbers"]:
        # With add-one smoothing, so that constant outputs stay finite.
        return torch.log((total + 1) / (count - total + 1))

    def log_partition_and_mean(self, field: Numbers) -> tuple[Sums, Numbers]:
        return kernels.softplus_and_means(field)

    def log_partition_of_rows(
        self, fields: RowLogits, ids: Int[Tensor, "batch states"]
    ) -> Float[Tensor, "batch states"]:
        return kernels.softplus_of_rows(fields, ids)

    def means_of_rows(
        self,
        fields: RowLogits,
        ids: Int[Tensor, "batch states"],
        weight: Float[Tensor, "batch states"],
    ) -> tuple[Float[Tensor, "rows numbers"], Float[Tensor, "batch numbers"]]:
        return kernels.means_of_rows(fields, ids, weight)


BERNOULLI = Bernoulli()  # the default kind of unit


@dataclass(frozen=True)
class Categorical(Units):
    """A unit with one of several values, written as a one-hot group of numbers.

    A layer of m units is a vector of m * n_values numbers, one group after the other.

    Parameters
    ----------
    n_values
        The number of values.

    Examples
    --------
    >>> Categorical(3).mean(torch.zeros(3))
    tensor([0.3333, 0.3333, 0.3333])
    """

    n_values: int = 2

    def __post_init__(self) -> None:
        checks.whole_number("n_values", self.n_values, at_least=2)

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.n_values

    def _groups(self, numbers: Tensor) -> Tensor:
        return numbers.unflatten(-1, (-1, self.n_values))

    def log_partition(self, field: Numbers, known: Numbers | None = None) -> Sums:
        each = self._groups(field).logsumexp(-1)
        if known is not None:
            groups = self._groups(known)
            fixed = (groups.nan_to_num() * self._groups(field)).sum(-1)
            each = torch.where(groups[..., 0].isnan(), each, fixed)
        return each.sum(-1)

    def mean(self, field: Numbers, known: Numbers | None = None) -> Numbers:
        if field.numel() < LARGE:
            mean = self._groups(field).softmax(-1).flatten(-2)
        else:
            _, mean = self.log_partition_and_mean(field)
        return _with_known(mean, known)

    def log_partition_and_mean(self, field: Numbers) -> tuple[Sums, Numbers]:
        if field.numel() < LARGE:
            return super().log_partition_and_mean(field)
        groups = self._groups(field)
        largest = groups.detach().amax(-1, keepdim=True)
        powers = (groups - largest).exp()
        total = powers.sum(-1, keepdim=True)
        log_total = (total.log() + largest).sum((-1, -2))
        return log_total, (powers / total).flatten(-2)

    def sample(
        self, field: Numbers, source: Source = None, known: Numbers | None = None
    ) -> Numbers:
        return self.sample_mean(self.mean(field, known), source)

    def sample_mean(self, mean: Numbers, source: Source = None) -> Numbers:
        return sampling.categorical(self._groups(mean), source).flatten(-2)

    def entropy(self, mean: Numbers) -> Sums:
        return torch.special.entr(mean).sum(-1)

    def log_losses(
        self, mean: Numbers, truth: Numbers, least: float = 0.0
    ) -> Float[Tensor, "... units"]:
        return -(self._groups(truth) * _log(self._groups(mean), least)).sum(-1)

    def round(self, mean: Numbers) -> Numbers:
        groups = self._groups(mean)
        best = groups.argmax(-1, keepdim=True)
        return torch.zeros_like(groups).scatter_(-1, best, 1).flatten(-2)

    def errors(self, mean: Numbers, truth: Numbers) -> Float[Tensor, "... units"]:
        groups = self._groups(truth)
        differs = self._groups(mean).argmax(-1) != groups.nan_to_num().argmax(-1)
        return torch.where(groups[..., 0].isnan(), torch.nan, differs.to(mean))

    def states(self, like: Tensor) -> Float[Tensor, "values width"]:
        return torch.eye(self.n_values).to(like)

    def check(self, name: str, s: Numbers, *, missing: bool = False) -> None:
        checks.binary(name, s, missing=missing)
        groups = self._groups(s)
        total = groups.sum(-1)
        unknown = groups.isnan()
        good = (total == 1) | (unknown.all(-1) & missing)
        if not good.all():
            row, unit = checks.first_place(~good)
            raise ValueError(
                f"`{name}` must hold a one-hot group of {self.n_values} numbers per "
                f"unit; row {row}, unit {unit} holds "
                f"{groups.reshape(-1, *groups.shape[-2:])[row, unit].tolist()}. Encode "
                "values with torch.nn.functional.one_hot."
            )

    def check_mean(self, name: str, mean: Numbers) -> None:
        checks.within_unit(name, mean)

    def hamming(self, s: Numbers, truth: Numbers) -> Sums:
        return truth.shape[-1] // self.n_values - (s * truth).sum(-1)

    def hamming_slope(self, truth: Numbers) -> Numbers:
        return -truth

    def starting_field(
        self, total: Float[Tensor, " numbers"], count: Float[Tensor, " numbers"]
    ) -> Float[Tensor, " numbers"]:
        return torch.log((total + 1) / (count + self.n_values))


@dataclass(frozen=True)
class Gaussian(Units):
    """A real unit of variance 1 whose mean is the field; standardise the data.

    Examples
    --------
    >>> Gaussian().mean(torch.tensor([0.5, -2.0]))
    tensor([ 0.5000, -2.0000])
    """

    def log_partition(self, field: Numbers, known: Numbers | None = None) -> Sums:
        each = field.square() / 2 + HALF_LOG_2PI
        if known is not None:
            value = known.nan_to_num()
            fixed = value * field - value.square() / 2
            each = torch.where(known.isnan(), each, fixed)
        return each.sum(-1)

    def mean(self, field: Numbers, known: Numbers | None = None) -> Numbers:
        return _with_known(field, known)

    def sample(
        self, field: Numbers, source: Source = None, known: Numbers | None = None
    ) -> Numbers:
        return _with_known(self.sample_mean(field, source), known)

    def sample_mean(self, mean: Numbers, source: Source = None) -> Numbers:
        return mean + sampling.normal(mean, source)

    def log_base(self, s: Numbers) -> Sums:
        return -s.square().sum(-1) / 2

    def entropy(self, mean: Numbers) -> Sums:
        return torch.full_like(mean, HALF_LOG_2PI).sum(-1)

    def log_losses(
        self, mean: Numbers, truth: Numbers, least: float = 0.0
    ) -> Float[Tensor, "... units"]:
        return (truth - mean).square() / 2 + HALF_LOG_2PI

    def errors(self, mean: Numbers, truth: Numbers) -> Float[Tensor, "... units"]:
        return (mean - truth).square()

    @property
    def is_finite(self) -> bool:
        return False

    def states(self, like: Tensor) -> Float[Tensor, "values width"]:
        raise TypeError(
            "Gaussian units have no finite list of states to enumerate. Use "
            "mean_field, gibbs or annealing, or enumerate the hidden units."
        )

    def check(self, name: str, s: Numbers, *, missing: bool = False) -> None:
        if missing:
            s = torch.where(s.isnan(), 0, s)
        checks.finite(name, s)

    def starting_field(
        self, total: Float[Tensor, " numbers"], count: Float[Tensor, " numbers"]
    ) -> Float[Tensor, " numbers"]:
        return total / count.clamp(min=1)


def _log(p: Tensor, least: float) -> Tensor:
    return p.clamp(min=max(least, torch.finfo(p.dtype).tiny)).log()


def _with_known(s: Tensor, known: Tensor | None) -> Tensor:
    return s if known is None else torch.where(known.isnan(), s, known)
