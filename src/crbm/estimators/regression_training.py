"""Training of a `GaussianCRBM` by its exact likelihood."""

from __future__ import annotations

import copy
import math

import torch
from torch import Generator, Tensor

from crbm.models.gaussian import GaussianCRBM


def train(
    model: GaussianCRBM,
    u: Tensor,
    r: Tensor,
    weight: Tensor | None,
    *,
    n_epochs: int,
    batch_size: int,
    learning_rate: float,
    l2: float,
    validation_fraction: float,
    generator: Generator,
) -> list[float]:
    """Fit the model in place; return the held-out log-likelihood of each epoch.

    The model starts at one Gaussian for all residuals. The weights of the epoch with
    the highest held-out log-likelihood are kept, the start among them.
    """
    order = torch.randperm(len(r), generator=generator)
    n_held_out = round(validation_fraction * len(r))
    held_out, rows = order[:n_held_out], order[n_held_out:]
    if n_held_out < 2:
        held_out, rows = order[:0], order
    model.start_noise(covariance(r[rows]))
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    history: list[float] = []
    best, kept = -math.inf, copy.deepcopy(model.state_dict())
    for epoch in range(n_epochs):
        share = (1 + math.cos(math.pi * epoch / n_epochs)) / 2
        optimizer.param_groups[0]["lr"] = learning_rate * share
        shuffled = rows[torch.randperm(len(rows), generator=generator)]
        for batch in shuffled.split(batch_size):
            own = None if weight is None else weight[batch]
            _step(model, optimizer, u[batch], r[batch], own, l2)
        if len(held_out):
            with torch.no_grad():
                history.append(
                    float(model.log_density(u[held_out], r[held_out]).mean())
                )
            if history[-1] > best:
                best, kept = history[-1], copy.deepcopy(model.state_dict())
    if len(held_out) and n_epochs:
        model.load_state_dict(kept)
    return history


def _step(
    model: GaussianCRBM,
    optimizer: torch.optim.Optimizer,
    u: Tensor,
    r: Tensor,
    weight: Tensor | None,
    l2: float,
) -> None:
    optimizer.zero_grad()
    score = model.log_density(u, r)
    mean = score.mean() if weight is None else (score * weight).sum() / weight.sum()
    loss = l2 * model.weight_uh.square().sum() / 2 - mean
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    optimizer.step()


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
