"""Validation after each epoch, and the weights at its lowest error."""

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
from crbm.training.hooks import Hook
from crbm.training.run import Run, copy_weights
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


# Lower bound on p, so that one confident mistake cannot dominate the log loss.
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
        mean of -log p of single outputs, with p no lower than 0.001. With few held-out
        cases the log loss is the better guide, as it depends on how sure a prediction
        is.

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


class EarlyStopping(Hook):
    """Validates after each epoch, keeps the best weights and stops when they are old.

    Parameters
    ----------
    validation
        Held-out cases, whose prediction error is measured, or a function from the model
        to an error. The weights at its lowest are restored at the end.
    patience
        Epochs without a new lowest error before the run stops; None never stops it.

    Examples
    --------
    >>> import crbm
    >>> cases = Batch(torch.eye(4), torch.eye(4))
    >>> history = crbm.training.fit(
    ...     crbm.CRBM(4, 4, 2), crbm.objectives.Perceptron(), cases, n_epochs=5,
    ...     hooks=[EarlyStopping(cases, patience=2)],
    ... )
    >>> history.best_epoch is not None
    True
    """

    priority = 0
    on_every_rank = True
    state_name = "best"

    def __init__(
        self,
        validation: Cases | Callable[[EnergyModel], float],
        patience: int | None = None,
    ) -> None:
        if patience is not None:
            checks.whole_number("patience", patience, at_least=1)
        self.patience = patience
        if isinstance(validation, Cases):
            validation = PredictionError(validation)
        self.validation = validation
        self._forget()

    def _forget(self) -> None:
        self.error = math.inf
        self.epoch: int | None = None
        self.weights: dict[str, Tensor] = {}

    def start(self, run: Run) -> None:
        if run.n_epochs == 0:
            self._forget()

    def after_epoch(self, run: Run) -> None:
        place = run.n_epochs - 1
        run.model.eval()
        error = self.validation(run.model)
        run.model.train()
        run.history.epochs[-1] = run.history.epochs[-1]._replace(validation=error)
        if error < self.error:
            self.error, self.epoch = error, place
            self.weights = copy_weights(run.model)
        if self.patience is not None and self._age(place) >= self.patience:
            run.stop("early")

    def _age(self, place: int) -> int:
        """Epochs since the lowest error; 0 where there was no finite one."""
        return 0 if self.epoch is None else place - self.epoch

    def finish(self, run: Run) -> None:
        if self.weights:
            run.model.load_state_dict(self.weights)
        run.history.best_epoch = self.epoch

    def describe(self) -> dict[str, Any]:
        return {"patience": self.patience, "validation": self.validation}

    def state(self) -> dict[str, Any]:
        return {"error": self.error, "epoch": self.epoch, "weights": self.weights}

    def restore(self, state: dict[str, Any]) -> None:
        self.error, self.epoch = state["error"], state["epoch"]
        self.weights = state.get("weights", {})
