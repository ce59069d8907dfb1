"""A member whose support vector machines vote for label sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from crbm.estimators.auto.members import Inputs, Member, Prediction, Size, Task
from crbm.estimators.auto.ridge import SetCalibration, calibrate_sets
from crbm.estimators.auto.selection import greedy_weights
from crbm.estimators.auto.svm import SetSVM, frequent_sets
from crbm.estimators.pooling import some_rows
from crbm.preprocessing.packing import below
from crbm.preprocessing.pipelines import CUT_OFF

# Machines that are tried: widths of the kernel with the first penalty, as far as they
# get better in either direction, then the other penalties with the best width.
GAMMAS = (2.0, 1.0, 4.0)
WIDER = 2.0
PENALTIES = (4.0, 1.0, 16.0)
MOST_WIDTHS = 6
# The time and memory of the machines grow with the square of the cases.
MOST_CASES = 5000


class Trial(NamedTuple):
    """Machines and their votes for cases that they left out."""

    machines: SetSVM
    votes: Float[np.ndarray, "cases sets"]
    counts: Float[np.ndarray, "cases sets"]
    judged: Bool[np.ndarray, " cases"]

    def share_right(self, sets: Int[np.ndarray, " cases"]) -> float:
        """The share of left-out cases whose own set has the most votes."""
        return float((self.votes.argmax(1) == sets)[self.judged].mean())


class SVMMember(Member):
    """Support vector machines with an RBF kernel, one per pair of label sets.

    Machines of several widths and penalties vote together, with the weights that have
    the right set on top most often. Their votes choose whole label sets well;
    calibrated on left-out cases, they become probabilities.

    Attributes
    ----------
    machines, weights
        The machines in use, and how much their votes count.
    """

    name, inputs, predicts_sets = "svm", "linear", True

    @staticmethod
    def suits(task: Task) -> bool:
        """Whether most cases have a label set that others have too."""
        if not task.use_sets or len(task.X) > MOST_CASES:
            return False
        frequent = frequent_sets(task.sets)
        share = float(np.isin(task.sets, frequent).mean())
        return len(frequent) > 1 and share > 0.5

    def fit(self, task: Task, inputs: Inputs) -> None:
        X = _cut(inputs.fit(self.inputs, task))
        trials = self._trials(X, task)
        self.judged = np.logical_and.reduce([trial.judged for trial in trials])
        rows = np.flatnonzero(self.judged)
        rows = rows[some_rows(len(rows), len(task.table))]
        # differences of one vote, as of log probabilities, decide
        votes = [trial.votes[rows] * len(task.table) for trial in trials]
        weights = greedy_weights(votes, task.sets[rows])
        used = [place for place, weight in enumerate(weights) if weight]
        self.machines = [trials[place].machines for place in used]
        self.weights = [weights[place] for place in used]
        votes = [trials[place].votes for place in used]
        found, counts = _sum(self.weights, votes), trials[0].counts
        places = np.where(self.judged, task.sets, -1)
        self.calibration = calibrate_sets(found, places, counts, use_counts=False)
        sets = self.calibration(found, counts).astype(np.float32)
        self.out_of_fold = Prediction(sets @ task.table, sets)
        for machines in self.machines:
            machines.fit(X, task.sets)
        classes = self.machines[0].classes
        self.counts = _counts(task.sets, classes, len(task.table))
        self.table = task.table

    def _trials(self, X: np.ndarray, task: Task) -> list[Trial]:
        """The machines that there is time for, at least one."""
        found: dict[tuple[float, float], Trial] = {}

        def share(gamma: float, penalty: float = PENALTIES[0]) -> float:
            if (gamma, penalty) not in found:
                if found and not task.in_time():
                    return -1.0
                found[gamma, penalty] = self._left_out(SetSVM(penalty, gamma), X, task)
            return found[gamma, penalty].share_right(task.sets)

        best = max(GAMMAS, key=share)
        while len(found) < MOST_WIDTHS:
            best = max((best, best * WIDER, best / WIDER), key=share)
            if {(best * WIDER, PENALTIES[0]), (best / WIDER, PENALTIES[0])} <= {*found}:
                break
            if not task.in_time():
                break
        for penalty in PENALTIES[1:]:
            share(best, penalty)
        whole = [trial for trial in found.values() if trial.judged.all()]
        return whole or list(found.values())[:1]

    def _left_out(self, machines: SetSVM, X: np.ndarray, task: Task) -> Trial:
        """The votes of machines that left out the fold of each case."""
        n_sets, judged = len(task.table), np.zeros(len(X), dtype=bool)
        found, counts = np.zeros((len(X), n_sets)), np.zeros((len(X), n_sets))
        for number, held_out in enumerate(task.folds):
            if number and not task.in_time():
                break
            sets = task.sets.copy()
            sets[held_out] = -1
            if len(frequent_sets(sets)) < 2:
                continue
            machines.fit(X, sets)
            found[held_out] = _spread(machines, X[held_out], n_sets)
            counts[held_out] = _counts(sets, machines.classes, n_sets)
            judged[held_out] = True
        counts[~judged] = 1  # nothing is known: uniform
        return Trial(machines, found, counts, judged)

    def predict(self, X: np.ndarray, inputs: Inputs) -> Prediction:
        scaled = _cut(inputs.transform(self.inputs, X))
        n_sets = len(self.table)
        votes = [_spread(machines, scaled, n_sets) for machines in self.machines]
        found = _sum(self.weights, votes)
        sets = self.calibration(found, self.counts).astype(np.float32)
        return Prediction(sets @ self.table, sets)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {"counts": torch.from_numpy(self.counts)}
        for place, machines in enumerate(self.machines):
            for name, tensor in machines.state().items():
                tensors[f"{place}.{name}"] = tensor
        return tensors, {
            "calibration": list(self.calibration),
            "machine_weights": self.weights,
        }

    def restore(
        self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any], size: Size
    ) -> SVMMember:
        if size.table is None:
            raise ValueError("the machines need label sets to vote for")
        self.table, self.counts = size.table, tensors["counts"].numpy()
        if self.counts.shape != (len(size.table),) or not (self.counts > 0).any():
            raise ValueError("there must be a count for each label set")
        # earlier files have machines of one width and penalty, without a number
        self.weights = [float(w) for w in plain.get("machine_weights", [1.0])]
        parts = [
            below(f"{place}.", dict(tensors)) for place in range(len(self.weights))
        ]
        if "machine_weights" not in plain:
            parts = [dict(tensors)]
        self.machines = [
            SetSVM.restored(part, size.n_inputs, len(size.table)) for part in parts
        ]
        if not self.machines or not all(weight > 0 for weight in self.weights):
            raise ValueError("there must be machines with positive weights")
        self.calibration = SetCalibration(*map(float, plain["calibration"]))
        return self


def _cut(scaled: np.ndarray) -> np.ndarray:
    """Scaled inputs without outliers, which would be far from everything."""
    return scaled.clip(-CUT_OFF, CUT_OFF)


def _sum(weights: Sequence[float], votes: Sequence[np.ndarray]) -> np.ndarray:
    return np.sum([w * own for w, own in zip(weights, votes, strict=True)], axis=0)


def _spread(machines: SetSVM, X: np.ndarray, n_sets: int) -> np.ndarray:
    """Scores of all label sets; 0 for those without machines."""
    found = np.zeros((len(X), n_sets))
    found[:, machines.classes] = machines.scores(X)
    return found


def _counts(sets: np.ndarray, classes: np.ndarray, n_sets: int) -> np.ndarray:
    """How often each label set with machines was seen; 0 for the others."""
    counts = np.zeros(n_sets)
    counts[classes] = np.bincount(sets[sets >= 0], minlength=n_sets)[classes]
    return counts
