"""Randomised trees for the means of `CRBMRegressor`, as plain arrays."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from sklearn.ensemble import ExtraTreesRegressor
from torch import Tensor

from crbm.estimators.auto.forest import Trees, check_trees, joined_trees

N_TREES = 100
LARGEST = float(np.finfo(np.float32).max)


class TreeRegression(NamedTuple):
    """The mean over trees of what their leaves predict.

    Parameters
    ----------
    trees
        What the nodes ask.
    values
        The targets that each node predicts, (nodes, targets).
    """

    trees: Trees
    values: np.ndarray

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The expected targets, (cases, targets)."""
        leaves = self.trees.apply(_single(X))
        return self.values[leaves].mean(1)

    def state(self) -> dict[str, Tensor]:
        """Everything that predictions need, as named tensors."""
        arrays = self.trees._asdict() | {"values": self.values}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    @classmethod
    def restored(
        cls, tensors: Mapping[str, Tensor], n_inputs: int, n_targets: int
    ) -> TreeRegression:
        """The trees whose `state` this was; raises if it is inconsistent."""
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        trees = Trees(*(arrays[name] for name in Trees._fields))
        check_trees(trees, n_inputs)
        if arrays["values"].shape != (len(trees.feature), n_targets):
            raise ValueError("the leaves of the trees do not fit the targets")
        return cls(trees, arrays["values"])


def grow(
    X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None, *, min_leaf: int
) -> tuple[TreeRegression, np.ndarray]:
    """Trees on bootstrap samples, and predictions for each case by those without it.

    `min_leaf` is the least number of cases in a leaf.
    """
    forest = ExtraTreesRegressor(
        N_TREES,
        bootstrap=True,
        oob_score=True,
        min_samples_leaf=min_leaf,
        random_state=0,
    )
    with warnings.catch_warnings():
        # a case that is in all bootstrap samples is predicted as the mean
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        forest.fit(_single(X), Y[:, 0] if Y.shape[1] == 1 else Y, weight)
    grown = [tree.tree_ for tree in forest.estimators_]
    values = np.concatenate([tree.value[:, :, 0] for tree in grown])
    unseen = forest.oob_prediction_.reshape(Y.shape)
    return TreeRegression(joined_trees(grown), values), unseen


def _single(X: np.ndarray) -> np.ndarray:
    """Inputs in the precision of the trees' thresholds."""
    return X.clip(-LARGEST, LARGEST).astype(np.float32)
