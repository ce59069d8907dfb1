"""The default base of `CRBMRegressor`: ridge regression and trees, weighted.

The weights are those with the smallest squared error of predictions for cases that were
left out. They are shared by all targets, and not below zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from crbm.estimators.base_trees import TreeRegression, grow

FEWEST_CASES = 20  # trees need some
MOST_SINGLE = 6  # with more targets there are no trees for each of them


class Ridge:
    """Ridge regression of one target on scaled inputs, as plain arrays."""

    def __init__(self, coef: np.ndarray, intercept: float) -> None:
        self.coef_, self.intercept_ = coef, intercept

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The expected target."""
        return X @ self.coef_ + self.intercept_


class Columns(NamedTuple):
    """Trees for some of the targets each; together they predict all."""

    parts: list[TreeRegression]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The expected targets."""
        return np.hstack([part.predict(X) for part in self.parts])


class Blend(NamedTuple):
    """A weighted sum of ridge regressions and trees.

    Parameters
    ----------
    ridges
        One linear regression for each target.
    trees
        Trees for all targets, and possibly trees for each target.
    weights
        Of the linear regressions and of each set of trees.
    """

    ridges: list[Ridge]
    trees: list[Columns]
    weights: np.ndarray

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The expected targets."""
        linear = np.column_stack([ridge.predict(X) for ridge in self.ridges])
        total = self.weights[0] * linear
        for weight, columns in zip(self.weights[1:], self.trees, strict=True):
            if weight:
                total += weight * columns.predict(X)
        return total


def fit(
    ridges: list[Ridge],
    linear: np.ndarray,
    X: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray | None,
) -> tuple[Blend, np.ndarray]:
    """The blend, and its predictions for each case by parts that left it out.

    `linear` are such predictions of the ridge regressions; Y may be NaN.
    """
    found = [linear]
    trees = []
    if len(Y) >= FEWEST_CASES:
        for columns, unseen in _trees(X, Y, weight):
            trees.append(columns)
            found.append(unseen)
    weights = _weights(found, Y, weight)
    kept = [0, *(i for i in range(1, len(found)) if weights[i] > 0)]
    blend = Blend(ridges, [trees[i - 1] for i in kept[1:]], weights[kept])
    return blend, np.tensordot(weights, np.stack(found), 1)


def _weights(
    found: list[np.ndarray], Y: np.ndarray, weight: np.ndarray | None
) -> np.ndarray:
    """The weights with the smallest squared error of the known targets."""
    if len(found) == 1:
        return np.ones(1)
    known = ~np.isnan(Y)
    root = np.ones(len(Y)) if weight is None else np.sqrt(weight)
    scale = np.broadcast_to(root[:, None], Y.shape)[known]
    table = np.column_stack([each[known] * scale for each in found])
    weights: np.ndarray = nnls(table, Y[known] * scale)[0]
    return weights


def _trees(
    X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None
) -> list[tuple[Columns, np.ndarray]]:
    """Trees for all targets at once, and trees for each of a few targets."""
    n_targets, complete = Y.shape[1], not np.isnan(Y).any()
    several = []
    if n_targets > 1 and complete:
        trees, unseen = grow(X, Y, weight, min_leaf=2)
        several.append((Columns([trees]), unseen))
    if n_targets <= MOST_SINGLE or not complete:
        single = [_one_target(X, y, weight) for y in Y.T]
        parts = Columns([trees for trees, _ in single])
        several.append((parts, np.hstack([unseen for _, unseen in single])))
    return several


def _one_target(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray | None
) -> tuple[TreeRegression, np.ndarray]:
    """Trees grown on the cases whose target is known."""
    known = ~np.isnan(y)
    own = None if weight is None else weight[known]
    trees, unseen = grow(X[known], y[known, None], own, min_leaf=1)
    predicted = np.empty((len(y), 1))
    predicted[known] = unseen
    if not known.all():
        predicted[~known] = trees.predict(X[~known])
    return trees, predicted
