"""Validation error after each epoch, and the weights at its lowest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from crbm import checks
from crbm.energies import Energy
from crbm.inference import search
from crbm.models import EnergyModel
from crbm.types import Batch, Cases, Found, Marginals
from crbm.units import Units

ROWS_AT_ONCE = 1024


def by_search(energy: Energy, cases: Batch) -> Found:
    """The prediction of CD-PercLoss: ten mean-field steps from the input."""
    return search.mean_field(energy, n_steps=10)


def _errors(units: Units, means: Tensor, v: Tensor) -> Tensor:
    return units.errors(means, v)


def _log_losses(units: Units, means: Tensor, v: Tensor) -> Tensor:
    return units.log_losses(means, v, LEAST)


# One output that was held impossible shall not decide alone.
LEAST = 1e-3
MEASURES = {"error": _errors, "log_loss": _log_losses}


@dataclass(frozen=True)
class PredictionError:
    """How far predictions for held-out cases are from their outputs: low is good.

    Parameters
    ----------
    data
        Held-out cases.
    predict
        From an energy and its cases to means of v; the paper's search by ten mean-field
        steps unless given.
    measure
        "error", the share of outputs that are wrong after rounding, or "log_loss", the
        mean of -log p of single outputs, with p no lower than 0.001: of few cases it
        tells more, as it sees also how sure a prediction was.

    Examples
    --------
    >>> import crbm
    >>> cases = Batch(torch.zeros(4, 2), torch.ones(4, 3))
    >>> model = crbm.CRBM(2, 3, 0)
    >>> _ = model.bias_v.data.fill_(1.0)
    >>> PredictionError(cases)(model)
    0.0
    """

    data: Cases
    predict: Callable[[Energy, Batch], Found | Marginals] = by_search
    measure: str = "error"

    def __post_init__(self) -> None:
        checks.one_of("measure", self.measure, MEASURES)

    @torch.no_grad()
    def __call__(self, model: EnergyModel) -> float:
        total = known = 0.0
        for start in range(0, self.data.n_cases, ROWS_AT_ONCE):
            cases = self.data.select(slice(start, start + ROWS_AT_ONCE))
            energy = model.condition(cases.u).expand(cases.n_cases)
            means, v = self.predict(energy, cases).v, model.flatten_outputs(cases.v)
            errors = MEASURES[self.measure](model.visible, means, v)
            errors = errors[~errors.isnan()]
            total, known = total + float(errors.sum()), known + errors.numel()
        return total / known if known else math.nan


class BestWeights:
    """Remembers the weights at the lowest validation error.

    Parameters
    ----------
    patience
        Epochs without a new lowest error before training stops; None never stops.
    """

    def __init__(self, patience: int | None = None) -> None:
        self.patience = patience
        self.error = math.inf
        self.epoch: int | None = None
        self.weights: dict[str, Tensor] = {}

    def update(self, model: EnergyModel, error: float, epoch: int) -> None:
        """Keep the weights if this epoch is the best so far."""
        if error < self.error:
            self.error, self.epoch = error, epoch
            self.weights = copied(model)

    def exhausted(self, epoch: int) -> bool:
        """Whether patience has run out."""
        if self.patience is None or self.epoch is None:
            return False
        return epoch - self.epoch >= self.patience

    def restore(self, model: EnergyModel) -> None:
        """Give the best weights back to the model."""
        if self.weights:
            model.load_state_dict(self.weights)

    def state(self) -> dict[str, Any]:
        """What must be kept to go on later."""
        return {"error": self.error, "epoch": self.epoch, "weights": self.weights}

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a kept state."""
        self.error, self.epoch = state["error"], state["epoch"]
        self.weights = state.get("weights", {})


def copied(model: EnergyModel) -> dict[str, Tensor]:
    """A copy of the model's weights."""
    return {name: t.detach().clone() for name, t in model.state_dict().items()}
