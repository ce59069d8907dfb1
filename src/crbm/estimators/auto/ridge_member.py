"""A member that regresses labels and label sets on kernel features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from crbm.estimators.auto.members import Inputs, Member, Prediction, Size, Task
from crbm.estimators.auto.ridge import (
    LabelCalibration,
    Regression,
    SetCalibration,
    calibrate_labels,
    calibrate_sets,
)

PENALTIES = (3e-2, 1e-1, 1e-2, 3e-1, 3e-3, 1e-3)
# Up to so many cases whole folds are left out; above, each case alone, which is faster.
MOST_IN_FOLDS = 6000


class RidgeMember(Member):
    """Kernel ridge regression, which is near a support vector machine.

    The regressed indicators of labels and of label sets become probabilities by
    calibration on left-out cases.
    """

    name, inputs = "ridge, kernel", "kernel"

    def fit(self, task: Task, inputs: Inputs) -> None:
        F = inputs.fit(self.inputs, task).astype(np.float64)
        regression = Regression(F, task.weight)
        known = ~np.isnan(task.Y)
        self.base = (np.nansum(task.Y, axis=0) + 0.5) / (known.sum(0) + 1)
        labels = np.where(known, task.Y, self.base)
        penalty, marginals = self._choose(regression, labels, task)
        self.of_labels = regression.solve(labels, penalty)
        self.predicts_sets, sets = task.use_sets and task.in_time(), None
        if self.predicts_sets:
            sets = self._fit_sets(regression, penalty, task)
        self.out_of_fold = Prediction(marginals, sets)
        self.judged = np.ones(len(F), dtype=bool)

    def _choose(
        self, regression: Regression, labels: np.ndarray, task: Task
    ) -> tuple[float, np.ndarray]:
        """The best penalty, and the probabilities of left-out cases with it."""
        lowest, best = np.inf, (PENALTIES[-1], labels)
        for penalty in PENALTIES:
            if lowest < np.inf and not task.in_time():
                break
            found = regression.left_out(labels, penalty, _folds(task))
            calibration, loss = calibrate_labels(found, task.Y, self.base)
            if loss < lowest:
                lowest, self.label_calibration = loss, calibration
                best = penalty, calibration(found, self.base)
        return best

    def _fit_sets(
        self, regression: Regression, penalty: float, task: Task
    ) -> np.ndarray:
        """Regress the label sets; probabilities of left-out cases."""
        complete = np.flatnonzero(task.sets >= 0)
        targets = np.zeros((len(task.X), len(task.table)))
        targets[complete, task.sets[complete]] = 1
        self.counts = targets.sum(0)
        folds = _folds(task)
        found = regression.left_out(targets, penalty, folds)
        others = self.counts - targets
        for fold in folds or ():
            others[fold] = self.counts - targets[fold].sum(0)
        self.set_calibration = calibrate_sets(found, task.sets, others)
        self.of_sets = regression.solve(targets, penalty)
        return self.set_calibration(found, others).astype(np.float32)

    def predict(self, X: np.ndarray, inputs: Inputs) -> Prediction:
        F = inputs.transform(self.inputs, X).astype(np.float64)
        marginals = self.label_calibration(_regressed(F, self.of_labels), self.base)
        if not self.predicts_sets:
            return Prediction(marginals)
        found = _regressed(F, self.of_sets)
        return Prediction(marginals, self.set_calibration(found, self.counts))

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        arrays = {"base": self.base, **_named("labels", self.of_labels)}
        plain: dict[str, Any] = {"labels": list(self.label_calibration)}
        if self.predicts_sets:
            arrays |= {"counts": self.counts, **_named("sets", self.of_sets)}
            plain["sets"] = list(self.set_calibration)
        return {name: torch.from_numpy(array) for name, array in arrays.items()}, plain

    def restore(
        self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any], size: Size
    ) -> RidgeMember:
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        n_sets = len(size.table) if size.table is not None and "sets" in plain else 0
        shapes = {
            "base": (size.n_labels,),
            "labels.weight": (size.n_inputs, size.n_labels),
            "labels.intercept": (size.n_labels,),
        }
        if n_sets:
            shapes |= {
                "counts": (n_sets,),
                "sets.weight": (size.n_inputs, n_sets),
                "sets.intercept": (n_sets,),
            }
        if {name: array.shape for name, array in arrays.items()} != shapes:
            raise ValueError("the arrays of the ridge regression do not fit together")
        self.predicts_sets = n_sets > 0
        self.base = arrays["base"]
        self.of_labels = arrays["labels.weight"], arrays["labels.intercept"]
        self.label_calibration = LabelCalibration(*map(float, plain["labels"]))
        if n_sets:
            self.counts = arrays["counts"]
            self.of_sets = arrays["sets.weight"], arrays["sets.intercept"]
            self.set_calibration = SetCalibration(*map(float, plain["sets"]))
        return self


def _folds(task: Task) -> list[np.ndarray] | None:
    return task.folds if len(task.X) <= MOST_IN_FOLDS else None


def _regressed(F: np.ndarray, solution: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    weight, intercept = solution
    return F @ weight + intercept


def _named(name: str, solution: tuple[np.ndarray, np.ndarray]) -> dict[str, np.ndarray]:
    """Weights and intercepts by name."""
    weight, intercept = solution
    return {f"{name}.weight": weight, f"{name}.intercept": intercept}
