"""Decision thresholds for each label, tuned on held-out cases."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from crbm import metrics

Table = Float[np.ndarray, "cases labels"]
Thresholds = Float[np.ndarray, " labels"]


def tuned(metric: str, truth: Table, probabilities: Table) -> Thresholds:
    """The thresholds that score best on these cases.

    Parameters
    ----------
    metric
        "hamming", "macro_f1" or "subset_accuracy".
    truth, probabilities
        Labels (NaN where unknown) and p(v_i = 1 | u) of held-out cases.

    Examples
    --------
    >>> truth = np.array([[1.0], [1.0], [0.0], [0.0]])
    >>> tuned("hamming", truth, np.array([[0.4], [0.3], [0.2], [0.1]]))
    array([0.25])
    """
    if metric == "subset_accuracy":
        return _for_whole_sets(truth, probabilities)
    score = _accuracy if metric == "hamming" else metrics._known_f1
    columns = zip(truth.T, probabilities.T, strict=True)
    return np.array([_best(*column, score) for column in columns])


def _best(
    truth: np.ndarray,
    p: np.ndarray,
    score: Callable[[np.ndarray, np.ndarray], float],
) -> float:
    """The best threshold of one label; the one nearest a half among equals."""
    known = ~np.isnan(truth)
    if not known.any():
        return 0.5
    options = _options(p[known])
    scores = [score(truth[known], (p[known] > option)) for option in options]
    best = options[np.isclose(scores, max(scores))]
    return float(best[np.abs(best - 0.5).argmin()])


def _options(p: np.ndarray) -> np.ndarray:
    """Midpoints between the probabilities met, and a half; at most about 200."""
    met = np.unique(p)
    met = met[np.linspace(0, len(met) - 1, min(len(met), 200)).astype(int)]
    return np.unique(np.append((met[1:] + met[:-1]) / 2, 0.5))


def _for_whole_sets(truth: Table, p: Table) -> Thresholds:
    """Label after label, twice over: whole sets couple the thresholds."""
    thresholds = np.full(truth.shape[1], 0.5)
    right = ((p > thresholds) == truth) | np.isnan(truth)
    for label in [*range(truth.shape[1])] * 2:
        others = np.delete(right, label, axis=1).all(1)
        if not others.any():
            continue
        thresholds[label] = _best(truth[others, label], p[others, label], _accuracy)
        column = (p[:, label] > thresholds[label]) == truth[:, label]
        right[:, label] = column | np.isnan(truth[:, label])
    return thresholds


def _accuracy(truth: np.ndarray, predicted: np.ndarray) -> float:
    return float((truth == predicted).mean())
