"""The scaling of the inputs and the width of the kernel that suit the data."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.metrics.pairwise import euclidean_distances

from crbm.estimators.auto.ridge import Regression, calibrate_labels
from crbm.preprocessing import Preprocessor
from crbm.preprocessing.pipelines import CUT_OFF

# Scalings of the inputs, each with the preprocessing that makes kernel features of it.
KERNELS = {"standardise": "rbf", "centre": "rbf-centre", "rank": "rbf-rank"}
# Widths: the kernel is exp(-gamma |x - y|^2 / median).
GAMMAS = (2.0, 0.7, 6.0)
PENALTIES = (1e-4, 1e-3, 1e-2)
# Cases that the choice is made on.
MOST_CASES = 800


class Scaling(NamedTuple):
    """A scaling of the inputs, and the `gamma` of a kernel on them."""

    kind: str
    gamma: float

    def preprocessor(self, kind: str) -> Preprocessor:
        """The unfitted preprocessing of "linear" or "kernel" inputs."""
        if kind == "linear":
            return Preprocessor(self.kind)
        return Preprocessor(KERNELS[self.kind], self.gamma)


def choose_scaling(
    X: Float[np.ndarray, "cases inputs"],
    Y: Float[np.ndarray, "cases labels"],
    proceed: Callable[[], bool] = lambda: True,
) -> Scaling:
    """The scaling and width by which kernel ridge regression predicts best.

    Judged by the log loss of at most `MOST_CASES` cases, evenly spaced, each left out
    alone, as long as `proceed()`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) * [1, 1e6]
    >>> choose_scaling(X, (X[:, :1] > 0).astype(float)).kind != "centre"
    True
    """
    rows = np.arange(0, len(X), -(-len(X) // MOST_CASES))
    labels = Y[rows]
    if len(rows) < 3:
        return Scaling("standardise", GAMMAS[0])
    known = ~np.isnan(labels)
    base = (np.nansum(labels, axis=0) + 0.5) / (known.sum(0) + 1)
    targets = np.where(known, labels, base)
    lowest, best = np.inf, Scaling("standardise", GAMMAS[0])
    for kind in KERNELS:
        scaled = Preprocessor(kind).fit(X).transform(X[rows]).clip(-CUT_OFF, CUT_OFF)
        for gamma in GAMMAS:
            if lowest < np.inf and not proceed():
                return best
            features = _exact_features(scaled, gamma)
            regression = Regression(features)
            for penalty in PENALTIES:
                found = regression.left_out(targets, penalty)
                loss = calibrate_labels(found, labels, base)[1]
                if loss < lowest:
                    lowest, best = loss, Scaling(kind, gamma)
    return best


def least_seconds(n_cases: int, n_targets: int) -> float:
    """About how long kernel features and a ridge on them take on this machine, now."""
    n_probe, n_features = 300, min(n_cases, 1000)
    probe = np.random.default_rng(0).random((n_probe, n_probe))
    started = time.monotonic()
    np.linalg.eigh(probe + probe.T)
    # the decompositions of one choice of the scaling, of the kernel and of the ridge
    size = 2 * min(n_cases, MOST_CASES) ** 3 + 10 * n_features**3
    # products are several times faster than decompositions of that size
    size += n_cases * n_features * (n_features + 6 * n_targets) // 4
    return (time.monotonic() - started) * size / n_probe**3


def _exact_features(scaled: np.ndarray, gamma: float) -> np.ndarray:
    """Features whose scalar products are the kernel of all pairs of cases."""
    squared = euclidean_distances(scaled, squared=True)
    apart = squared[squared > 0]
    kernel = np.exp(-gamma * squared / (np.median(apart) if len(apart) else 1.0))
    values, axes = np.linalg.eigh(kernel)
    return axes * np.sqrt(values.clip(0))
