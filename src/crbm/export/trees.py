"""Trees as ONNX nodes."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from crbm.estimators.auto.forest import LEAF, Trees
from crbm.export.graph import Value

SINGLE = np.dtype(np.float32)


def leaf_sums(trees: Trees, leaves: sparse.csr_array, x: Value) -> Value:
    """Sums over the trees of what the leaves hold that a case reaches, (cases, values).

    Parameters
    ----------
    trees
        What the nodes ask.
    leaves
        The values of each node; those of inner nodes do not count.
    x
        The inputs.
    """
    ends = np.append(trees.roots[1:], len(trees.feature))
    sizes = ends - trees.roots
    tree = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(tree)) - np.repeat(trees.roots, sizes)
    is_leaf = trees.feature == LEAF
    left, right = (
        np.where(is_leaf, 0, child - trees.roots[tree])
        for child in (trees.left, trees.right)
    )
    nodes, targets, weights = _entries(np.flatnonzero(is_leaf), leaves)
    return x.to(SINGLE).node(
        "TreeEnsembleRegressor",
        domain="ai.onnx.ml",
        n_targets=leaves.shape[1],
        nodes_treeids=tree.tolist(),
        nodes_nodeids=place.tolist(),
        nodes_featureids=np.where(is_leaf, 0, trees.feature).tolist(),
        nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_values=not_above(trees.threshold).tolist(),
        nodes_truenodeids=left.tolist(),
        nodes_falsenodeids=right.tolist(),
        target_treeids=tree[nodes].tolist(),
        target_nodeids=place[nodes].tolist(),
        target_ids=targets.tolist(),
        target_weights=weights.astype(np.float32).tolist(),
    )


def _entries(
    nodes: np.ndarray, leaves: sparse.csr_array
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Node, column and value of the entries of leaves; each leaf has at least one."""
    own = sparse.csr_array(leaves[nodes])
    counts = np.diff(own.indptr)
    empty = nodes[counts == 0]
    return (
        np.concatenate([nodes.repeat(counts), empty]),
        np.concatenate([own.indices, np.zeros(len(empty), dtype=int)]),
        np.concatenate([own.data, np.zeros(len(empty))]),
    )


def not_above(thresholds: np.ndarray) -> np.ndarray:
    """The largest numbers of single precision that are not above these.

    A number of single precision is at most a threshold where it is at most this.

    Examples
    --------
    >>> float(not_above(np.array([0.1]))[0]) <= 0.1 < float(np.float32(0.1))
    True
    """
    rounded = thresholds.astype(np.float32)
    lower = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > thresholds, lower, rounded)
