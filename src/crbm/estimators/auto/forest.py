"""A random forest whose leaves hold what the training cases there had."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor
from torch import Tensor

# Trees are grown on random projections of the labels where there are more of them.
MOST_TARGETS = 24
LEAF = -1


class Trees(NamedTuple):
    """All trees as arrays: node i asks whether x[feature] <= threshold.

    Parameters
    ----------
    roots
        The first node of each tree.
    feature, threshold
        What a node asks; `feature` is `LEAF` at a leaf.
    left, right
        The next node if the answer is yes, and if it is no.
    """

    roots: Int[np.ndarray, " trees"]
    feature: Int[np.ndarray, " nodes"]
    threshold: Float[np.ndarray, " nodes"]
    left: Int[np.ndarray, " nodes"]
    right: Int[np.ndarray, " nodes"]

    def apply(
        self, X: Float[np.ndarray, "cases inputs"]
    ) -> Int[np.ndarray, "cases trees"]:
        """The leaf that each case reaches in each tree."""
        cases = np.repeat(np.arange(len(X)), len(self.roots))
        node = np.tile(self.roots, len(X))
        moving = np.flatnonzero(self.feature[node] != LEAF)
        while len(moving):
            at = node[moving]
            goes_left = X[cases[moving], self.feature[at]] <= self.threshold[at]
            node[moving] = np.where(goes_left, self.left[at], self.right[at])
            moving = moving[self.feature[node[moving]] != LEAF]
        return node.reshape(len(X), len(self.roots))


class Forest:
    """The mean outcome of the training cases that share leaves with a case.

    Each tree is grown on a bootstrap sample, to reduce the variance of the labels (of
    random projections of them, where there are many). What a leaf predicts is up to
    the `outcomes`: with one column per label set the forest is a joint distribution,
    with one per label it gives marginals.

    Parameters
    ----------
    n_trees
        The number of trees.

    Attributes
    ----------
    out_of_bag_
        The mean outcome of each training case by the trees that were not grown on it.
    is_out_of_bag_
        False for a case that all trees were grown on.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]] * 5)
    >>> outcomes = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]] * 5)
    >>> forest = Forest(n_trees=20).fit(X, outcomes, outcomes, seed=0)
    >>> forest.predict(np.array([[0.05], [0.95]])).round(2)
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    def __init__(self, n_trees: int = 200) -> None:
        self.n_trees = n_trees

    def fit(
        self,
        X: Float[np.ndarray, "cases inputs"],
        labels: Float[np.ndarray, "cases labels"],
        outcomes: Any,
        *,
        seed: int,
        weight: Float[np.ndarray, " cases"] | None = None,
        proceed: Callable[[], bool] = lambda: True,
    ) -> Forest:
        """Grow trees on the labels, as long as `proceed()`; one at least.

        `outcomes` has one row per case, dense or sparse.
        """
        rng, X = np.random.default_rng(seed), np.asarray(X, dtype=np.float32)
        outcomes = sparse.csr_array(outcomes, dtype=np.float32)
        self.n_outcomes = outcomes.shape[1]
        total = np.zeros(outcomes.shape, dtype=np.float32)
        n_out, leaves = np.zeros(len(X)), []
        grown: list[Any] = []
        while len(grown) < self.n_trees and (not grown or proceed()):
            times = _bootstrap(len(X), weight, rng)
            tree = _grow(X, labels, times, rng)
            at = tree.apply(X)
            leaf = _leaf_means(at, outcomes, times, tree.tree_.node_count)
            out = np.flatnonzero(times == 0)
            total[out] += leaf[at[out]].toarray()
            n_out[out] += 1
            grown.append(tree.tree_)
            leaves.append(leaf)
        self.out_of_bag_ = total / np.maximum(n_out, 1)[:, None].astype(np.float32)
        self.is_out_of_bag_ = n_out > 0
        self.trees = joined_trees(grown)
        self.leaves = sparse.vstack(leaves, format="csr").astype(np.float32)
        return self

    def predict(
        self, X: Float[np.ndarray, "cases inputs"]
    ) -> Float[np.ndarray, "cases outcomes"]:
        """The mean outcome of each case."""
        at = self.trees.apply(np.asarray(X, dtype=np.float32))
        n_cases, n_trees = at.shape
        ends = np.arange(0, at.size + 1, n_trees)
        shares = np.full(at.size, 1 / n_trees, dtype=np.float32)
        n_nodes = len(self.trees.feature)
        reached = sparse.csr_array((shares, at.ravel(), ends), (n_cases, n_nodes))
        return (reached @ self.leaves).toarray()

    def state(self) -> dict[str, Tensor]:
        """Everything that predictions need, as named tensors."""
        arrays = dict(self.trees._asdict())
        arrays |= {
            "leaf_ends": self.leaves.indptr.astype(np.int64),
            "leaf_columns": self.leaves.indices.astype(np.int32),
            "leaf_means": self.leaves.data,
        }
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    @classmethod
    def restored(
        cls, tensors: Mapping[str, Tensor], n_inputs: int, n_outcomes: int
    ) -> Forest:
        """The forest whose `state` this was; raises if it is inconsistent."""
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        trees = Trees(*(arrays[name] for name in Trees._fields))
        check_trees(trees, n_inputs)
        if not _all_within(arrays["leaf_means"], 0, 1 + 1e-3):
            raise ValueError("the leaves of the forest hold no probabilities")
        forest = cls(len(trees.roots))
        forest.trees, forest.n_outcomes = trees, n_outcomes
        parts = (arrays["leaf_means"], arrays["leaf_columns"], arrays["leaf_ends"])
        forest.leaves = sparse.csr_array(parts, (len(trees.feature), n_outcomes))
        forest.leaves.check_format()
        return forest


def _bootstrap(
    n_cases: int, weight: np.ndarray | None, rng: np.random.Generator
) -> Int[np.ndarray, " cases"]:
    """How often each case is drawn."""
    share = None if weight is None else weight / weight.sum()
    return np.bincount(rng.choice(n_cases, n_cases, p=share), minlength=n_cases)


def _grow(
    X: np.ndarray, labels: np.ndarray, times: np.ndarray, rng: np.random.Generator
) -> DecisionTreeRegressor:
    targets, chosen = _projected(labels, rng), times > 0
    tree = DecisionTreeRegressor(
        max_features="sqrt", random_state=int(rng.integers(2**31))
    )
    weight = times[chosen].astype(np.float64)
    return tree.fit(X[chosen], targets[chosen], sample_weight=weight)


def _projected(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The labels, or random projections of them where there are many."""
    if labels.shape[1] <= MOST_TARGETS:
        return labels
    directions = rng.standard_normal((labels.shape[1], MOST_TARGETS))
    return (labels - labels.mean(0)) @ directions


def _leaf_means(
    at: np.ndarray, outcomes: sparse.csr_array, times: np.ndarray, n_nodes: int
) -> sparse.csr_array:
    """The mean outcome in each leaf, (nodes, outcomes)."""
    cases = np.flatnonzero(times)
    counts = times[cases].astype(np.float32)
    total = np.bincount(at[cases], counts, n_nodes)
    shares = counts / total[at[cases]]
    inside = sparse.coo_array((shares, (at[cases], cases)), (n_nodes, len(times)))
    return inside.tocsr() @ outcomes


def joined_trees(grown: list[Any]) -> Trees:
    """The trees of scikit-learn in one set of arrays."""
    starts = np.concatenate([[0], np.cumsum([tree.node_count for tree in grown])])
    starts = starts.astype(np.int32)
    columns: list[list[np.ndarray]] = [[], [], [], []]
    for tree, start in zip(grown, starts[:-1], strict=True):
        leaf = tree.children_left < 0
        columns[0].append(np.where(leaf, LEAF, tree.feature).astype(np.int32))
        columns[1].append(tree.threshold.astype(np.float64))
        for column, child in zip(
            columns[2:], (tree.children_left, tree.children_right), strict=True
        ):
            column.append(np.where(leaf, 0, child + start).astype(np.int32))
    return Trees(starts[:-1], *(np.concatenate(column) for column in columns))


def check_trees(trees: Trees, n_inputs: int) -> None:
    """Refuse arrays that would be read out of bounds or in circles."""
    kinds = [(array.dtype.kind, array.ndim) for array in trees]
    whole, real = ("i", 1), ("f", 1)
    if kinds != [real if name == "threshold" else whole for name in trees._fields]:
        raise ValueError("the trees of the forest are of the wrong types or shapes")
    n_nodes, inner = len(trees.feature), trees.feature != LEAF
    parents = np.flatnonzero(inner)
    sound = (
        {len(array) for array in trees[1:]} == {n_nodes}
        and len(trees.roots) > 0
        and _all_within(trees.roots, 0, n_nodes)
        and _all_within(trees.feature, LEAF, n_inputs)
        and all(
            _all_within(child[inner], parents + 1, n_nodes)
            for child in (trees.left, trees.right)
        )
    )
    if not sound:
        raise ValueError("the trees of the forest do not fit together")


def _all_within(values: np.ndarray, lowest: Any, end: float | int) -> bool:
    return bool(((values >= lowest) & (values < end)).all())
