"""Members made of trees: a random forest, and boosted trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from torch import Tensor

from crbm.estimators.auto.boosting import Boosting
from crbm.estimators.auto.forest import Forest
from crbm.estimators.auto.members import Inputs, Member, Prediction, Size, Task
from crbm.preprocessing.packing import below

# Trees, unless there are many cases.
N_TREES, FEWER_TREES, MANY_CASES = 200, 100, 10_000


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
        self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any], size: Size
    ) -> ForestMember:
        self.table, self.predicts_sets = size.table, size.table is not None
        n_outcomes = size.n_labels if size.table is None else len(size.table)
        self.forest = Forest.restored(tensors, size.n_inputs, n_outcomes)
        return self


class BoostingMember(Member):
    """Boosted trees that leave out different cases each; log-odds are averaged."""

    name = "boosting"
    predicts_sets = False

    def fit(self, task: Task, inputs: Inputs) -> None:
        self.models: list[Boosting] = []
        self.judged = np.zeros(len(task.X), dtype=bool)
        marginals = np.zeros(task.Y.shape)
        for number, held_out in enumerate(task.folds):
            if number and not task.in_time():
                break
            rest = np.setdiff1d(np.arange(len(task.X)), held_out)
            few = len(rest) <= MANY_CASES
            model = Boosting(N_TREES if few else FEWER_TREES, rate=0.1 if few else 0.2)
            model.fit(
                task.X[rest],
                task.Y[rest],
                task.X[held_out],
                task.Y[held_out],
                seed=task.seed + number,
                weight=None if task.weight is None else task.weight[rest],
                proceed=task.in_time,
            )
            marginals[held_out] = model.predict(task.X[held_out])
            self.judged[held_out] = True
            self.models.append(model)
        self.out_of_fold = Prediction(marginals)

    def predict(self, X: np.ndarray, inputs: Inputs) -> Prediction:
        return Prediction(np.mean([model.predict(X) for model in self.models], axis=0))

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {}
        for number, model in enumerate(self.models):
            for name, tensor in model.state().items():
                tensors[f"{number}.{name}"] = tensor
        return tensors, {"n_models": len(self.models)}

    def restore(
        self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any], size: Size
    ) -> BoostingMember:
        self.models = [
            Boosting.restored(
                below(f"{number}.", dict(tensors)), size.n_inputs, size.n_labels
            )
            for number in range(plain["n_models"])
        ]
        if not self.models:
            raise ValueError("there are no boosted trees")
        return self
