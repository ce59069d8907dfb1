"""Training of a `GaussianCRBM` by its exact likelihood and the error of its mean."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from crbm.models.gaussian import GaussianCRBM
from crbm.training import distributed
from crbm.training.distributed import Ranks

# Held-out cases by which the number of epochs is chosen, and splits to get them.
ENOUGH, MOST_SPLITS = 500, 4


@dataclass(frozen=True)
class Cases:
    """Inputs, residuals and weights of cases."""

    u: Tensor
    r: Tensor
    weight: Tensor | None

    def select(self, rows: Tensor) -> Cases:
        """Some of the cases."""
        own = None if self.weight is None else self.weight[rows]
        return Cases(self.u[rows], self.r[rows], own)

    @property
    def total_weight(self) -> float:
        """The sum of the weights; the number of cases where all count the same."""
        return len(self.r) if self.weight is None else float(self.weight.sum())

    def mean(self, values: Tensor) -> Tensor:
        """The weighted mean of one value per case."""
        if self.weight is None:
            return values.mean()
        return (values * self.weight).sum() / self.weight.sum()


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train.

    Parameters
    ----------
    n_epochs, batch_size
        Passes over the data and cases per update.
    learning_rate
        Of Adam; it falls to zero along half a cosine.
    l2
        Strength of the penalty on the weights from the inputs to the hidden units.
    """

    n_epochs: int
    batch_size: int
    learning_rate: float
    l2: float


def train(
    model: GaussianCRBM,
    cases: Cases,
    schedule: Schedule,
    *,
    validation_fraction: float,
    generator: Generator,
) -> list[float]:
    """Fit the model in place; return the held-out log-likelihood after each epoch.

    The first value is that of the start, one Gaussian for all residuals. The model is
    trained on all cases, up to the epoch with the highest held-out log-likelihood, at
    the start if that is highest.
    """
    if distributed.current().n_ranks > 1:
        distributed.check_same_cases(cases.u, cases.r)
    start = copy.deepcopy(model)
    splits = _splits(cases, validation_fraction, generator)
    parts = []
    for held_out in splits if schedule.n_epochs else []:
        rest = torch.ones(len(cases.r), dtype=torch.bool)
        rest[held_out] = False
        own = cases.select(held_out)
        scores: list[Tensor] = []
        trial = copy.deepcopy(start)
        _run(trial, cases.select(rest), schedule, generator, _scorer(own, scores))
        parts.append(torch.stack(scores, 1))
    if not parts:
        _run(model, cases, schedule, generator)
        return []
    held = cases.select(torch.cat(splits))
    scores_by_epoch = torch.cat(parts)
    _run(model, cases, schedule, generator, n_epochs=_best_epoch(scores_by_epoch, held))
    return [float(held.mean(each)) for each in scores_by_epoch.T]


def _splits(cases: Cases, share: float, generator: Generator) -> list[Tensor]:
    """Rows to hold out, one set after the other; none for few cases."""
    n_held_out = round(share * len(cases.r))
    if n_held_out < 2:
        return []
    n_splits = min(MOST_SPLITS, math.ceil(ENOUGH / n_held_out), int(1 / share))
    order = torch.randperm(len(cases.r), generator=generator)
    return list(order[: n_splits * n_held_out].split(n_held_out))


def _scorer(cases: Cases, scores: list[Tensor]) -> Callable[[GaussianCRBM], None]:
    """Appends the log-likelihood of each of the cases."""

    @torch.no_grad()
    def score(model: GaussianCRBM) -> None:
        scores.append(model.log_density(cases.u, cases.r))

    return score


def _best_epoch(scores: Tensor, held_out: Cases) -> int:
    """The epoch with the highest mean score."""
    means = torch.stack([held_out.mean(each) for each in scores.T]).nan_to_num(
        -math.inf
    )
    return int(means.argmax())


def _run(
    model: GaussianCRBM,
    cases: Cases,
    schedule: Schedule,
    generator: Generator,
    after_epoch: Callable[[GaussianCRBM], None] = lambda model: None,
    n_epochs: int | None = None,
) -> None:
    """Train for all epochs of the schedule or the first ones.

    With 0 epochs the hidden units do nothing: the model is one Gaussian.
    """
    ranks = distributed.current()
    noise = covariance(cases.r)
    model.start_noise(noise)
    scale = noise.diagonal().sqrt()
    gaussian = copy.deepcopy(model)
    gaussian.make_gaussian()
    after_epoch(gaussian)
    n_total = schedule.n_epochs
    n_epochs = n_total if n_epochs is None else n_epochs
    if n_epochs == 0:
        model.make_gaussian()
    optimizer = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate)
    sum_gradients = ranks.gradient_sum(model)
    for epoch in range(n_epochs):
        share = (1 + math.cos(math.pi * epoch / n_total)) / 2
        optimizer.param_groups[0]["lr"] = schedule.learning_rate * share
        order = torch.randperm(len(cases.r), generator=generator)
        for rows in order.split(schedule.batch_size):
            optimizer.zero_grad(set_to_none=False)
            _add_gradient(model, cases.select(rows), scale, l2=schedule.l2, ranks=ranks)
            sum_gradients()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()
        after_epoch(model)
    if ranks.n_ranks > 1:
        distributed.check_same_weights(model)


def _add_gradient(
    model: GaussianCRBM, cases: Cases, scale: Tensor, *, l2: float, ranks: Ranks
) -> None:
    """Add the gradient of the cases' loss to that of the weights.

    Each rank adds the part of its shard of the cases, and its part of the penalty.
    """
    own, share = cases, 1.0
    if ranks.n_ranks > 1:
        n_cases = len(cases.r)
        own = cases.select(torch.arange(n_cases)[ranks.shard.places(n_cases)])
        spare = ranks.rank >= n_cases
        share = 0.0 if spare else own.total_weight / cases.total_weight
    score = own.mean(model.log_density(own.u, own.r) - _mean_error(model, own, scale))
    penalty = l2 * model.weight_uh.square().sum() / 2
    if model.weight_us is not None:
        penalty = penalty + l2 * model.weight_us.square().sum() / 2
    loss = penalty / ranks.n_ranks - share * score
    loss.backward()


def _mean_error(
    model: GaussianCRBM, cases: Cases, scale: Tensor
) -> Float[Tensor, " cases"]:
    """Half the squared errors of the expected outputs in units of `scale`.

    Where residuals are skewed, the likelihood alone moves the mean towards the mode.
    """
    error = (cases.r - model.mean(cases.u)) / scale
    return error.nan_to_num().square().sum(1) / 2


def covariance(r: Tensor) -> Tensor:
    """The covariance of residuals, shrunk a little; missing ones count as the mean."""
    centred = r - r.nanmean(0)
    known = ~centred.isnan()
    filled = centred.nan_to_num()
    pairs = (known.to(r).T @ known.to(r)).clamp(min=2)
    found = filled.T @ filled / pairs
    # pairwise means need not be positive definite
    values, vectors = torch.linalg.eigh(found)
    floor = 1e-3 * found.diagonal().mean() + 1e-9
    return (vectors * values.clamp(min=floor)) @ vectors.T
