"""What the members of `AutoClassifier` share: the task, inputs, predictions."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from crbm.estimators.auto.scaling import Scaling, choose_scaling
from crbm.estimators.pooling import log_odds
from crbm.preprocessing import Preprocessor

# What members may receive: kernel features, scaled inputs, other members' log-odds.
KINDS = ("kernel", "linear", "stack")


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

    def with_share_of_time(self, share: float) -> Task:
        """The task with a deadline after a share of the time that is left."""
        now = time.monotonic()
        return self._replace(deadline=now + share * (self.deadline - now))


class Prediction(NamedTuple):
    """p(v_i = 1 | u) of each label and, if a member has them, p(v | u) of each set."""

    marginals: Float[np.ndarray, "cases labels"]
    sets: Float[np.ndarray, "cases sets"] | None = None


class Inputs:
    """What members receive: inputs preprocessed in several ways, each fitted once.

    "kernel" are features of an RBF kernel and "linear" are scaled inputs, both by the
    `scaling` that suits the data; "stack" are the log-odds of all labels by the members
    in `stacked`.
    """

    def __init__(self) -> None:
        self.scaling: Scaling | None = None
        self.preprocessors: dict[str, Preprocessor] = {}
        self.stacked: list[Member] = []

    def fit(self, kind: str, task: Task) -> Float[np.ndarray, "cases columns"]:
        """Training inputs; in the stack, by models that left each case out."""
        if kind == "stack":
            return self._stack([m.out_of_fold.marginals for m in self.stacked])
        if self.scaling is None:
            self.scaling = choose_scaling(task.X, task.Y, task.in_time)
        if kind not in self.preprocessors:
            self.preprocessors[kind] = self.scaling.preprocessor(kind).fit(task.X)
        return self.transform(kind, task.X)

    def transform(self, kind: str, X: np.ndarray) -> Float[np.ndarray, "cases columns"]:
        """Inputs of new cases."""
        if kind == "stack":
            return self._stack([m.predict(X, self).marginals for m in self.stacked])
        return self.preprocessors[kind].transform(X).astype(np.float32)

    def _stack(self, marginals: list[np.ndarray]) -> np.ndarray:
        return np.hstack([log_odds(p) for p in marginals]).astype(np.float32)

    def keep(self, members: list[Member]) -> None:
        """Forget all that these members do not need."""
        kinds = {member.inputs for member in members}
        if "stack" not in kinds:
            self.stacked = []
        kinds |= {member.inputs for member in self.stacked}
        fitted = self.preprocessors
        self.preprocessors = {kind: fitted[kind] for kind in fitted if kind in kinds}

    def n_columns(self, kind: str, n_features: int, n_labels: int) -> int:
        """The number of inputs that `n_features` features become."""
        if kind == "stack":
            return len(self.stacked) * n_labels
        return self.preprocessors[kind].n_outputs(n_features)


class Size(NamedTuple):
    """The size of a restored member's inputs and outputs, and the label sets."""

    n_inputs: int
    n_labels: int
    table: Float[np.ndarray, "sets labels"] | None


class Member(ABC):
    """Something that predicts labels, and its predictions for unseen training cases.

    Attributes
    ----------
    name
        What the leaderboard calls it.
    inputs
        The kind of `Inputs` that it receives; None for the cases as they are.
    predicts_sets
        Whether it is a joint distribution over the label sets.
    out_of_fold
        Predictions for training cases by models that did not learn from them.
    judged
        The training cases that have such a prediction.
    """

    name: str
    inputs: str | None = None
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

    @abstractmethod
    def restore(
        self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any], size: Size
    ) -> Member:
        """Set what `state` gave; raises if it is inconsistent."""
