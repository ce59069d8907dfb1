"""Which preprocessing suits the data: scaled inputs or features of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse
from sklearn.metrics.pairwise import euclidean_distances

from crbm.preprocessing.pipelines import CUT_OFF, pipeline

# The scalings, and the kernel features that are made of inputs scaled so.
KERNELS = {"standardise": "rbf", "centre": "rbf-centre", "rank": "rbf-rank"}
LINEAR = ("centre", "standardise")
# The kernel is exp(-gamma |x - y|^2 / median).
GAMMAS = (0.7, 2.0, 6.0)
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)
# Cases that the choice is made on, and the fewest that allow one.
MOST_CASES, FEWEST_CASES = 600, 50
# Inputs below have squares that can be summed up in float64.
LARGEST = 1e100
# Inputs of more columns are not ranked, which takes long.
MOST_RANKED = 2000
# The share by which another scaling than the usual one, and a kernel, which is slower
# and cannot be read, must lower the error.
LEAST_GAIN = 0.01

Square = Float[np.ndarray, "cases cases"]
Targets = Float[np.ndarray, "cases labels"]


class Choice(NamedTuple):
    """A kind of preprocessing and the width parameter of its kernel."""

    kind: str
    gamma: float = 1.0


def choose(X: Any, Y: Float[np.ndarray, "cases labels"], usual: str) -> Choice:
    """The preprocessing by which ridge regression predicts left-out cases best.

    Parameters
    ----------
    X, Y
        Training inputs, dense or sparse, and labels, NaN where unknown. At most
        `MOST_CASES` rows are used, evenly spaced.
    usual
        A scaling that is tried beside `LINEAR`, and the answer where there are fewer
        than `FEWEST_CASES` or their squares overflow.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> choose(X, X + rng.normal(size=(200, 2)), "none").kind
    'none'
    >>> near = (X**2).sum(1, keepdims=True) < 1
    >>> choose(X, near.astype(float), "none").kind
    'rbf'
    """
    if X.shape[0] < FEWEST_CASES:
        return Choice(usual)
    rows = np.linspace(0, X.shape[0] - 1, min(X.shape[0], MOST_CASES)).astype(int)
    X, targets = X[np.unique(rows)], _centred(Y[np.unique(rows)])
    if not float(abs(X).max()) < LARGEST:
        return Choice(usual)
    lowest, linear = np.inf, np.inf
    best = best_linear = Choice(usual)
    for choice, kernel in _kernels(X, usual):
        error = left_out_error(kernel, targets)
        if error < lowest:
            lowest, best = error, choice
        if choice.kind not in KERNELS.values() and error < linear * (1 - LEAST_GAIN):
            linear, best_linear = error, choice
    return best_linear if linear <= lowest * (1 + LEAST_GAIN) else best


def left_out_error(kernel: Square, targets: Targets) -> float:
    """Mean squared error of kernel ridge regression for cases left out one by one.

    The lowest over `PENALTIES`, in units of the mean eigenvalue of the kernel. With H
    the matrix that turns targets into predictions, the error of a left-out case is its
    residual divided by 1 - H_ii.
    """
    middle = kernel.mean(0)
    kernel = kernel - middle - middle[:, None] + middle.mean()
    values, axes = np.linalg.eigh(kernel)
    values = values.clip(0)
    rotated, squared, lowest = axes.T @ targets, axes**2, np.inf
    for penalty in PENALTIES:
        shrunk = values / (values + max(penalty * values.sum(), 1e-300))
        leverage = squared @ shrunk + 1 / len(kernel)
        residual = targets - axes @ (shrunk[:, None] * rotated)
        residual /= (1 - leverage).clip(1e-6)[:, None]
        lowest = min(lowest, float((residual**2).mean()))
    return lowest


def _kernels(X: Any, usual: str) -> Iterator[tuple[Choice, Square]]:
    """The choices, each with the scalar products of the inputs that it makes."""
    kinds = dict.fromkeys((usual, *LINEAR, *KERNELS))
    if issparse(X) or X.shape[1] > MOST_RANKED:
        del kinds["rank"]
    for kind in kinds:
        scaled = _dense(pipeline(kind, sparse=issparse(X)).fit_transform(X))
        if kind != "rank":
            yield Choice(kind), scaled @ scaled.T
        if kind in KERNELS:
            squared = euclidean_distances(scaled.clip(-CUT_OFF, CUT_OFF), squared=True)
            apart = squared[squared > 0]
            median = np.median(apart) if len(apart) else 1.0
            for gamma in GAMMAS:
                yield Choice(KERNELS[kind], gamma), np.exp(-gamma * squared / median)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)


def _centred(Y: Any) -> Targets:
    """Labels minus their means; those that are not known are as their means."""
    labels = np.array(Y, dtype=np.float64)
    known = ~np.isnan(labels)
    means = np.nansum(labels, axis=0) / known.sum(0).clip(1)
    return np.where(known, labels - means, 0.0)
