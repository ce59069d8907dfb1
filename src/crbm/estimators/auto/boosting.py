"""Gradient boosting of all labels at once, with one tree per step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.tree import DecisionTreeRegressor
from torch import Tensor

from crbm.estimators.auto.forest import (
    MOST_TARGETS,
    Trees,
    check_trees,
    joined_trees,
)

# Cases per leaf at least, and their second derivatives' head start.
LEAST_LEAF, LEAST_CURVATURE = 5, 1.0
# Steps without a lower loss of the held-out cases after which to stop.
PATIENCE = 12

Matrix = Float[np.ndarray, "cases labels"]


class Boosting:
    """Log-odds of all labels as a sum of small trees.

    Each tree is fitted to the gradients of the log loss of all labels (to random
    projections of them, where there are many) and has a Newton step per label in each
    leaf. Steps are added until the loss of held-out cases no longer falls.

    Parameters
    ----------
    n_trees, n_leaves, rate
        The most trees, the leaves of each, and the share of a Newton step taken.
    rows
        The share of the cases that each tree is fitted to.

    Examples
    --------
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.2]).astype(float)
    >>> boosting = Boosting(n_trees=30).fit(X[::2], Y[::2], X[1::2], Y[1::2], seed=0)
    >>> (boosting.predict(X) > 0.5).astype(float).tolist() == Y.tolist()
    True
    """

    def __init__(
        self,
        n_trees: int = 200,
        n_leaves: int = 32,
        rate: float = 0.1,
        rows: float = 0.7,
    ) -> None:
        self.n_trees, self.n_leaves, self.rate, self.rows = (
            n_trees,
            n_leaves,
            rate,
            rows,
        )

    def fit(
        self,
        X: Float[np.ndarray, "cases inputs"],
        Y: Float[np.ndarray, "cases labels"],
        X_held_out: Float[np.ndarray, "held_out inputs"],
        Y_held_out: Float[np.ndarray, "held_out labels"],
        *,
        seed: int,
        weight: Float[np.ndarray, " cases"] | None = None,
        proceed: Callable[[], bool] = lambda: True,
    ) -> Boosting:
        """Add trees as long as `proceed()` and the loss falls; NaN is left out."""
        rng = np.random.default_rng(seed)
        X, X_held_out = (np.asarray(x, dtype=np.float32) for x in (X, X_held_out))
        known, truth = ~np.isnan(Y), np.nan_to_num(Y)
        times = known if weight is None else known * weight[:, None]
        base = ((times * truth).sum(0) + 0.5) / (times.sum(0) + 1)
        self.start = np.log(base) - np.log1p(-base)
        odds = np.tile(self.start, (len(X), 1))
        held_out = np.tile(self.start, (len(X_held_out), 1))
        grown: list[Any] = []
        leaves: list[np.ndarray] = []
        losses = [log_loss(held_out, Y_held_out)]
        while len(grown) < self.n_trees and (not grown or proceed()):
            p = 1 / (1 + np.exp(-odds))
            gradient, curvature = times * (truth - p), times * p * (1 - p)
            tree = self._grow(X, gradient, rng)
            at = tree.apply(X)
            leaf = self._newton_steps(at, gradient, curvature, tree.tree_.node_count)
            odds += leaf[at]
            held_out += leaf[tree.apply(X_held_out)]
            grown.append(tree.tree_)
            leaves.append(leaf)
            losses.append(log_loss(held_out, Y_held_out))
            if len(losses) - np.argmin(losses) > PATIENCE:
                break
        n_best = max(1, int(np.argmin(losses)))
        self.trees = joined_trees(grown[:n_best])
        self.leaves = np.concatenate(leaves[:n_best]).astype(np.float32)
        return self

    def _grow(
        self, X: np.ndarray, gradient: np.ndarray, rng: np.random.Generator
    ) -> DecisionTreeRegressor:
        n_labels = gradient.shape[1]
        if n_labels > MOST_TARGETS:
            gradient = gradient @ rng.standard_normal((n_labels, MOST_TARGETS))
        n_rows = max(2, int(self.rows * len(X)))
        chosen = rng.permutation(len(X))[:n_rows]
        tree = DecisionTreeRegressor(
            max_leaf_nodes=self.n_leaves,
            min_samples_leaf=min(LEAST_LEAF, n_rows // 2),
            max_features="sqrt",
            random_state=int(rng.integers(2**31)),
        )
        return tree.fit(X[chosen], gradient[chosen])

    def _newton_steps(
        self, at: np.ndarray, gradient: Matrix, curvature: Matrix, n_nodes: int
    ) -> np.ndarray:
        """A shortened Newton step of the log-odds of each label in each node."""
        first = np.zeros((n_nodes, gradient.shape[1]))
        second = np.full(first.shape, LEAST_CURVATURE)
        np.add.at(first, at, gradient)
        np.add.at(second, at, curvature)
        return self.rate * first / second

    def predict(
        self, X: Float[np.ndarray, "cases inputs"]
    ) -> Float[np.ndarray, "cases labels"]:
        """p(v_i = 1 | u)."""
        at = self.trees.apply(np.asarray(X, dtype=np.float32))
        odds = np.tile(self.start, (len(X), 1))
        for column in at.T:
            odds += self.leaves[column]
        return 1 / (1 + np.exp(-odds))

    def state(self) -> dict[str, Tensor]:
        """Everything that predictions need, as named tensors."""
        arrays = dict(self.trees._asdict())
        arrays |= {"start": self.start, "leaves": self.leaves}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    @classmethod
    def restored(
        cls, tensors: Mapping[str, Tensor], n_inputs: int, n_labels: int
    ) -> Boosting:
        """The boosting whose `state` this was; raises if it is inconsistent."""
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        boosting = cls()
        boosting.trees = Trees(*(arrays[name] for name in Trees._fields))
        check_trees(boosting.trees, n_inputs)
        boosting.start, boosting.leaves = arrays["start"], arrays["leaves"]
        shape = (len(boosting.trees.feature), n_labels)
        if boosting.leaves.shape != shape or boosting.start.shape != (n_labels,):
            raise ValueError("the leaves of the boosted trees do not fit the labels")
        return boosting


def log_loss(odds: Matrix, truth: Matrix) -> float:
    """The mean log loss of log-odds; NaN is left out."""
    loss = np.logaddexp(0, odds) - np.nan_to_num(truth) * odds
    known = ~np.isnan(truth)
    return float(loss[known].mean()) if known.any() else 0.0
