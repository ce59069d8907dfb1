"""The members that `AutoClassifier` pools, each judged on cases it has not seen."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy import sparse
from torch import Tensor

from crbm.estimators import files
from crbm.estimators.auto.forest import Forest
from crbm.estimators.auto.pooling import log_odds
from crbm.estimators.hash_crbm import HashCRBMClassifier
from crbm.estimators.logistic import LogisticClassifier
from crbm.estimators.structured import StructuredClassifier
from crbm.preprocessing import Preprocessor
from crbm.preprocessing.packing import below
from crbm.training import Hook
from crbm.training.run import Run

# Numbers that the scores of all label sets may have before hidden units are left out.
MOST_SCORES = 10**6
# Trees, unless there are many cases.
N_TREES, FEWER_TREES, MANY_CASES = 200, 100, 10_000
# Kernels of half the median distance did best on Yeast and Scene.
KERNEL_GAMMA = 2.0
TRAINING: dict[str, Any] = {
    "preprocessing": "none",
    "optimizer": torch.optim.Adam,
    "l2": 0.01,
    "n_epochs": 100,
    "early_stopping": True,
    "stop_by": "log_loss",
    "patience": 5,
}


class Task(NamedTuple):
    """What there is to learn, and how.

    Parameters
    ----------
    X, Y, weight
        Inputs, labels (NaN where unknown) and how much each case counts.
    table
        The distinct label sets.
    sets
        The row of the table of each case; -1 for cases with unknown labels.
    use_sets
        Whether members predict whole label sets; not if there are too many.
    folds
        The cases that each model of a committee leaves out.
    seed
        Of all randomness.
    deadline
        The time (of `time.monotonic`) at which to stop.
    """

    X: Float[np.ndarray, "cases inputs"]
    Y: Float[np.ndarray, "cases labels"]
    weight: Float[np.ndarray, " cases"] | None
    table: Float[np.ndarray, "sets labels"]
    sets: Int[np.ndarray, " cases"]
    use_sets: bool
    folds: list[Int[np.ndarray, " held_out"]]
    seed: int
    deadline: float

    def in_time(self) -> bool:
        """Whether the deadline lies ahead."""
        return time.monotonic() < self.deadline


class Prediction(NamedTuple):
    """p(v_i = 1 | u) of each label and, if a member has them, p(v | u) of each set."""

    marginals: Float[np.ndarray, "cases labels"]
    sets: Float[np.ndarray, "cases sets"] | None = None


class Inputs:
    """What members receive: inputs preprocessed in several ways, each fitted once.

    The kinds are those of `crbm.preprocessing`, and "forest" for the log-odds of the
    labels by a forest.
    """

    def __init__(self) -> None:
        self.preprocessors: dict[str, Preprocessor] = {}
        self.forest: ForestMember | None = None

    def fit(self, kind: str, X: np.ndarray) -> Float[np.ndarray, "cases columns"]:
        """Training inputs; out-of-bag ones where a forest makes them."""
        if kind == "forest":
            assert self.forest is not None
            return log_odds(self.forest.out_of_fold.marginals).astype(np.float32)
        if kind not in self.preprocessors:
            self.preprocessors[kind] = Preprocessor(kind, KERNEL_GAMMA).fit(X)
        return self.transform(kind, X)

    def transform(self, kind: str, X: np.ndarray) -> Float[np.ndarray, "cases columns"]:
        """Inputs of new cases."""
        if kind == "forest":
            assert self.forest is not None
            return log_odds(self.forest.predict(X, self).marginals).astype(np.float32)
        return self.preprocessors[kind].transform(X).astype(np.float32)

    def keep(self, kinds: set[str]) -> None:
        """Forget all other kinds."""
        fitted = self.preprocessors
        self.preprocessors = {kind: fitted[kind] for kind in fitted if kind in kinds}
        if "forest" not in kinds:
            self.forest = None

    def n_columns(self, kind: str, n_features: int, n_labels: int) -> int:
        """The number of inputs that `n_features` features become."""
        if kind == "forest":
            return n_labels
        return self.preprocessors[kind].n_outputs(n_features)


class Member(ABC):
    """Something that predicts labels, and its predictions for unseen training cases.

    Attributes
    ----------
    name
        What the leaderboard calls it.
    predicts_sets
        Whether it is a joint distribution over the label sets.
    out_of_fold
        Predictions for training cases by models that did not learn from them.
    judged
        The training cases that have such a prediction.
    """

    name: str
    predicts_sets: bool
    out_of_fold: Prediction
    judged: Bool[np.ndarray, " cases"]

    @abstractmethod
    def fit(self, task: Task, inputs: Inputs) -> None:
        """Learn, and predict the cases that were left out."""

    @abstractmethod
    def predict(self, X: np.ndarray, inputs: Inputs) -> Prediction:
        """Predictions for new cases."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain data that predictions need."""


class ForestMember(Member):
    """A random forest: label sets of the training cases in the same leaves."""

    name = "forest"

    def fit(self, task: Task, inputs: Inputs) -> None:
        complete = np.flatnonzero(task.sets >= 0)
        labels = task.Y[complete]
        self.table = task.table if task.use_sets else None
        self.predicts_sets = task.use_sets
        outcomes = sparse.csr_array(labels)
        if task.use_sets:
            ones, ends = np.ones(len(complete)), np.arange(len(complete) + 1)
            shape = (len(complete), len(task.table))
            outcomes = sparse.csr_array((ones, task.sets[complete], ends), shape)
        n_trees = N_TREES if len(complete) <= MANY_CASES else FEWER_TREES
        weight = None if task.weight is None else task.weight[complete]
        self.forest = Forest(n_trees).fit(
            task.X[complete],
            labels,
            outcomes,
            seed=task.seed,
            weight=weight,
            proceed=task.in_time,
        )
        found = np.zeros((len(task.X), outcomes.shape[1]), dtype=np.float32)
        found[complete] = self.forest.out_of_bag_
        self.judged = np.zeros(len(task.X), dtype=bool)
        self.judged[complete] = self.forest.is_out_of_bag_
        unseen = np.flatnonzero(task.sets < 0)
        if len(unseen):
            found[unseen], self.judged[unseen] = (
                self.forest.predict(task.X[unseen]),
                True,
            )
        self.out_of_fold = self._prediction(found)
        del self.forest.out_of_bag_

    def predict(self, X: np.ndarray, inputs: Inputs) -> Prediction:
        return self._prediction(self.forest.predict(X))

    def _prediction(self, found: np.ndarray) -> Prediction:
        if self.table is None:
            return Prediction(found.astype(np.float64))
        return Prediction(found @ self.table, found)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return self.forest.state(), {}

    def restore(
        self, tensors: Mapping[str, Tensor], n_inputs: int, n_labels: int, table: Any
    ) -> ForestMember:
        """Set what `state` gave; `table` is None if the leaves hold single labels."""
        self.table, self.predicts_sets = table, table is not None
        n_outcomes = n_labels if table is None else len(table)
        self.forest = Forest.restored(tensors, n_inputs, n_outcomes)
        return self


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
        self.kind, self.inputs, self.name = kind, inputs, f"{kind}, {inputs}"
        self.predicts_sets = kind == "hash-crbm"
        self.models: list[StructuredClassifier] = []

    def fit(self, task: Task, inputs: Inputs) -> None:
        U = inputs.fit(self.inputs, task.X)
        self.rows: list[np.ndarray] = []
        self.judged = np.zeros(len(U), dtype=bool)
        marginals = np.zeros(task.Y.shape)
        sets = np.zeros((len(U), len(task.table)), np.float32)
        for number, held_out in enumerate(task.folds):
            if number and not task.in_time():
                break
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

    def _train(
        self, task: Task, U: np.ndarray, held_out: np.ndarray, number: int
    ) -> StructuredClassifier:
        rest = np.setdiff1d(np.arange(len(U)), held_out)
        options = dict(TRAINING) | {
            "batch_size": 64 if len(rest) <= 5000 else 256,
            "random_state": task.seed + number,
            "learning_rate": 3e-3,
        }
        if self.predicts_sets:
            few = len(rest) * len(task.table) <= MOST_SCORES
            options |= {
                "learning_rate": 1e-3,
                "base_measure": "counts",
                "radius": None,
                "init_scale": 0.3,
                "n_hidden": 32 if few else 0,
            }
        model = self.CLASSES[self.kind](**options)
        model._added_hooks = (Deadline(task.deadline),)
        weight = None if task.weight is None else task.weight[rest]
        return model.fit(
            U[rest], task.Y[rest], weight, validation=(U[held_out], task.Y[held_out])
        )

    def predict(self, X: np.ndarray, inputs: Inputs) -> Prediction:
        U = inputs.transform(self.inputs, X)
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
        own = model._set_probabilities(u).numpy()
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
        return tensors, {"kind": self.kind, "inputs": self.inputs, "models": plain}

    def restore(
        self,
        tensors: Mapping[str, Tensor],
        models: Sequence[Mapping[str, Any]],
        size: tuple[int, int],
        table: Any,
    ) -> Committee:
        """Set what `state` gave, for models of `size` inputs and labels."""
        self.table = table if self.predicts_sets else None
        self.rows = []
        for number, plain in enumerate(models):
            parameters = files.restored_parameters(plain["parameters"])
            model = self.CLASSES[self.kind](**parameters)
            _set_size(model, *size)
            own = below(f"{number}.", dict(tensors))
            model._restore_trained(own, dict(plain["fitted"]))
            model._restore(own, dict(plain["fitted"]))
            self.models.append(model)
            self.rows.append(_rows_of(model, table) if self.predicts_sets else _NO)
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


_NO = np.empty(0, dtype=np.int64)


def _rows_of(model: StructuredClassifier, table: np.ndarray) -> np.ndarray:
    """The rows of a table that a model's label sets are."""
    places = {row.tobytes(): place for place, row in enumerate(table.astype(np.uint8))}
    own = model.label_sets_.numpy().astype(np.uint8)
    return np.array([places[row.tobytes()] for row in own], dtype=np.int64)
