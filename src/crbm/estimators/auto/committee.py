"""Members made of several energy-based models that leave out different cases."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from crbm import metrics
from crbm.estimators import files, posteriors
from crbm.estimators.auto.members import Inputs, Member, Prediction, Size, Task
from crbm.estimators.hash_crbm import HashCRBMClassifier
from crbm.estimators.logistic import LogisticClassifier
from crbm.estimators.structured import StructuredClassifier
from crbm.preprocessing.packing import below
from crbm.training import Hook
from crbm.training.run import Run

# Numbers that the scores of all label sets may have before hidden units are left out.
MOST_SCORES = 10**6
TRAINING: dict[str, Any] = {
    "preprocessing": "none",
    "optimizer": torch.optim.Adam,
    "n_epochs": 100,
    "early_stopping": True,
    "stop_by": "log_loss",
    "patience": 5,
}
# What HashCRBMs are tried with, as long as the first model gets better: hidden units
# first, then weaker penalties for inputs that say nearly everything.
TRIALS: tuple[dict[str, Any], ...] = (
    {"n_hidden": 32, "l2": 1e-2, "learning_rate": 1e-3},
    {"n_hidden": 0, "l2": 1e-3, "learning_rate": 3e-3},
    {"n_hidden": 0, "l2": 1e-4, "learning_rate": 1e-2},
)


class Committee(Member):
    """Models that leave out different cases each; their probabilities are averaged.

    Parameters
    ----------
    kind
        "hash-crbm" for joint distributions over the label sets, "logistic" for
        independent labels.
    inputs
        The kind of `Inputs`.
    """

    CLASSES: ClassVar[dict[str, type[StructuredClassifier]]] = {
        "hash-crbm": HashCRBMClassifier,
        "logistic": LogisticClassifier,
    }

    def __init__(self, kind: str, inputs: str) -> None:
        self.kind, self.source, self.name = kind, inputs, f"{kind}, {inputs}"
        self.inputs = inputs
        self.predicts_sets = kind == "hash-crbm"
        self.models: list[StructuredClassifier] = []

    def fit(self, task: Task, inputs: Inputs) -> None:
        U = inputs.fit(self.source, task)
        self.rows: list[np.ndarray] = []
        self.judged = np.zeros(len(U), dtype=bool)
        marginals = np.zeros(task.Y.shape)
        sets = np.zeros((len(U), len(task.table)), np.float32)
        for number, held_out in enumerate(task.folds):
            if number and not task.in_time():
                break
            if number == 0:
                model = self._choose(task, U, held_out)
            else:
                model = self._train(task, U, held_out, number)
            self.models.append(model)
            self.rows.append(_rows_of(model, task.table) if self.predicts_sets else _NO)
            found = self._ask(model, self.rows[-1], U[held_out], len(task.table))
            marginals[held_out] = found.marginals
            if found.sets is not None:
                sets[held_out] = found.sets
            self.judged[held_out] = True
        self.table = task.table if self.predicts_sets else None
        self.out_of_fold = Prediction(marginals, sets if self.predicts_sets else None)

    def _choose(
        self, task: Task, U: np.ndarray, held_out: np.ndarray
    ) -> StructuredClassifier:
        """The best model of the first fold; the others are trained as it was."""
        first, *others = self._trials(len(U), task)
        self.options = best = first
        model = self._train(task, U, held_out, 0)
        loss = _loss(model, U[held_out], task.Y[held_out])
        for options in others:
            if not task.in_time():
                break
            self.options = options
            other = self._train(task, U, held_out, 0)
            found = _loss(other, U[held_out], task.Y[held_out])
            if found >= loss:
                break
            model, best, loss = other, options, found
        self.options = best
        return model

    def _trials(self, n_cases: int, task: Task) -> list[dict[str, Any]]:
        """What the models may be trained with."""
        if not self.predicts_sets:
            return [{"l2": 1e-2, "learning_rate": 3e-3}]
        few = n_cases * len(task.table) <= MOST_SCORES
        shared = {"base_measure": "counts", "radius": None, "init_scale": 0.3}
        return [{**shared, **own} for own in TRIALS[0 if few else 1 :]]

    def _train(
        self, task: Task, U: np.ndarray, held_out: np.ndarray, number: int
    ) -> StructuredClassifier:
        rest = np.setdiff1d(np.arange(len(U)), held_out)
        model = self.CLASSES[self.kind](
            **TRAINING,
            **self.options,
            batch_size=64 if len(rest) <= 5000 else 256,
            random_state=task.seed + number,
        )
        model._added_hooks = (Deadline(task.deadline),)
        weight = None if task.weight is None else task.weight[rest]
        return model.fit(
            U[rest], task.Y[rest], weight, validation=(U[held_out], task.Y[held_out])
        )

    def predict(self, X: np.ndarray, inputs: Inputs) -> Prediction:
        U = inputs.transform(self.source, X)
        n_sets = 0 if self.table is None else len(self.table)
        found = [
            self._ask(model, rows, U, n_sets)
            for model, rows in zip(self.models, self.rows, strict=True)
        ]
        marginals = np.mean([each.marginals for each in found], axis=0)
        sets = [each.sets for each in found if each.sets is not None]
        return Prediction(marginals, np.mean(sets, axis=0) if sets else None)

    def _ask(
        self, model: StructuredClassifier, rows: np.ndarray, U: np.ndarray, n_sets: int
    ) -> Prediction:
        u = torch.from_numpy(np.ascontiguousarray(U))
        if not isinstance(model, HashCRBMClassifier):
            return Prediction(model._marginals(u, None).double().numpy())
        own = posteriors.set_probabilities(model, u).numpy()
        sets = np.zeros((len(U), n_sets), dtype=np.float32)
        sets[:, rows] = own
        return Prediction((own @ model.label_sets_.numpy()).astype(np.float64), sets)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, plain = {}, []
        for number, model in enumerate(self.models):
            trained, about = model._trained_state()
            own, more = model._state()
            for name, tensor in (trained | own).items():
                tensors[f"{number}.{name}"] = tensor
            parameters = files.plain_parameters(model)
            plain.append({"parameters": parameters, "fitted": about | more})
        return tensors, {"models": plain}

    def restore(
        self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any], size: Size
    ) -> Committee:
        self.table = size.table if self.predicts_sets else None
        self.rows = []
        for number, own in enumerate(plain["models"]):
            parameters = files.restored_parameters(own["parameters"])
            model = self.CLASSES[self.kind](**parameters)
            _set_size(model, size.n_inputs, size.n_labels)
            weights = below(f"{number}.", dict(tensors))
            model._restore_trained(weights, dict(own["fitted"]))
            model._restore(weights, dict(own["fitted"]))
            self.models.append(model)
            self.rows.append(_rows_of(model, size.table) if self.predicts_sets else _NO)
        return self


class Deadline(Hook):
    """Stops a run after the epoch in which the time is up."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline

    def after_epoch(self, run: Run) -> None:
        if time.monotonic() >= self.deadline:
            run.stop("out of time")


def _set_size(model: StructuredClassifier, n_inputs: int, n_labels: int) -> None:
    model.n_features_in_, model.n_labels_ = n_inputs, n_labels
    model.label_names_ = [str(label) for label in range(n_labels)]
    model.classes_, model.single_column_ = np.arange(n_labels), False
    model.thresholds_ = np.full(n_labels, 0.5)


def _loss(model: StructuredClassifier, U: np.ndarray, Y: np.ndarray) -> float:
    """The log loss of single labels."""
    u = torch.from_numpy(np.ascontiguousarray(U))
    return metrics.label_log_loss(Y, model._marginals(u, None).numpy(), least=1e-4)


_NO = np.empty(0, dtype=np.int64)


def _rows_of(model: StructuredClassifier, table: np.ndarray | None) -> np.ndarray:
    """The rows of a table that a model's label sets are."""
    assert table is not None
    places = {row.tobytes(): place for place, row in enumerate(table.astype(np.uint8))}
    own = model.label_sets_.numpy().astype(np.uint8)
    return np.array([places[row.tobytes()] for row in own], dtype=np.int64)
