"""A member whose support vector machines vote for label sets."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from crbm.estimators.auto.members import Inputs, Member, Prediction, Size, Task
from crbm.estimators.auto.ridge import SetCalibration, calibrate_sets
from crbm.estimators.auto.svm import SetSVM, frequent_sets
from crbm.preprocessing.pipelines import CUT_OFF

PENALTIES = (4.0, 1.0)
# Kernels, relative to the width that suits kernel ridge regression.
NARROWER = (1.0, 2.0)
# The time and memory of the machines grow with the square of the cases.
MOST_CASES = 5000


class SVMMember(Member):
    """Support vector machines with an RBF kernel, one per pair of label sets.

    Their votes choose whole label sets well; calibrated on left-out cases, they become
    probabilities.
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
        assert inputs.scaling is not None
        best = -1.0
        for narrower, penalty in itertools.product(NARROWER, PENALTIES):
            if best >= 0 and not task.in_time():
                break
            machines = SetSVM(penalty, narrower * inputs.scaling.gamma)
            found, counts, judged = self._left_out(machines, X, task)
            right = (found.argmax(1) == task.sets)[judged].mean()
            if right > best:
                best, self.machines, self.judged = right, machines, judged
                kept = found, counts
        found, counts = kept
        places = np.where(self.judged, task.sets, -1)
        self.calibration = calibrate_sets(found, places, counts, use_counts=False)
        sets = self.calibration(found, counts).astype(np.float32)
        self.out_of_fold = Prediction(sets @ task.table, sets)
        self.machines.fit(X, task.sets)
        self.counts = _counts(task.sets, self.machines.classes, len(task.table))
        self.table = task.table

    def _left_out(
        self, machines: SetSVM, X: np.ndarray, task: Task
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores, what was seen, and whether it was predicted, of left-out cases."""
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
        return found, counts, judged

    def predict(self, X: np.ndarray, inputs: Inputs) -> Prediction:
        scaled = _cut(inputs.transform(self.inputs, X))
        found = _spread(self.machines, scaled, len(self.table))
        sets = self.calibration(found, self.counts).astype(np.float32)
        return Prediction(sets @ self.table, sets)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {**self.machines.state(), "counts": torch.from_numpy(self.counts)}
        return tensors, {"calibration": list(self.calibration)}

    def restore(
        self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any], size: Size
    ) -> SVMMember:
        if size.table is None:
            raise ValueError("the machines need label sets to vote for")
        self.table, self.counts = size.table, tensors["counts"].numpy()
        if self.counts.shape != (len(size.table),) or not (self.counts > 0).any():
            raise ValueError("there must be a count for each label set")
        self.machines = SetSVM.restored(tensors, size.n_inputs, len(size.table))
        self.calibration = SetCalibration(*map(float, plain["calibration"]))
        return self


def _cut(scaled: np.ndarray) -> np.ndarray:
    """Scaled inputs without outliers, which would be far from everything."""
    return scaled.clip(-CUT_OFF, CUT_OFF)


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
