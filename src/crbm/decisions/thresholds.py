"""Decision thresholds: from probabilities alone, or tuned on cases with known truth.

All cuts of one label are compared at once: with the cases sorted by probability, the
counts of every possible answer are cumulative sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

Table = Float[np.ndarray, "cases labels"]
Thresholds = Float[np.ndarray, " labels"]
# Value of each cut from (labels above it, cases above it, labels in all, cases in all).
Score = Callable[[np.ndarray, np.ndarray, float, int], np.ndarray]


def micro_f1_threshold(probabilities: Any) -> float:
    """One threshold for all labels that maximises expected F1 of all labels pooled.

    Expected F1 is taken as 2 E[true positives] / E[predicted + true], which is right
    for many cases.

    Examples
    --------
    >>> round(micro_f1_threshold([[0.9, 0.4], [0.1, 0.0]]), 6)
    0.25
    """
    p = np.asarray(probabilities, dtype=np.float64).ravel()
    return _best(p, p, _f1)


def macro_f1_thresholds(probabilities: Any) -> Thresholds:
    """A threshold for each label that maximises its expected F1 over these cases.

    Labels that are rare or hard to predict get a threshold far below 0.5. Expected F1
    is taken as 2 E[true positives] / E[predicted + true].

    Examples
    --------
    >>> macro_f1_thresholds([[0.9, 0.2], [0.1, 0.02]]).round(6)
    array([0.5 , 0.11])
    """
    p = np.asarray(probabilities, dtype=np.float64)
    return np.array([_best(column, column, _f1) for column in p.T])


def tuned_thresholds(metric: str, truth: Any, probabilities: Any) -> Thresholds:
    """The thresholds that score best on cases whose truth is known.

    Parameters
    ----------
    metric
        "hamming", "micro_f1", "macro_f1" or "subset_accuracy".
    truth, probabilities
        Labels (NaN where unknown) and p(v_i = 1 | u) of held-out cases.

    Examples
    --------
    >>> truth = np.array([[1.0], [1.0], [0.0], [0.0]])
    >>> tuned_thresholds("hamming", truth, np.array([[0.4], [0.3], [0.2], [0.1]]))
    array([0.25])
    """
    truth, p = np.asarray(truth, np.float64), np.asarray(probabilities, np.float64)
    if metric == "subset_accuracy":
        return _for_whole_sets(truth, p)
    if metric == "micro_f1":
        return np.full(p.shape[1], _best(truth.ravel(), p.ravel(), _f1))
    score = _accuracy if metric == "hamming" else _f1
    columns = zip(truth.T, p.T, strict=True)
    return np.array([_best(*column, score) for column in columns])


def _best(truth: np.ndarray, p: np.ndarray, score: Score) -> float:
    """The best threshold of one label; the one nearest a half among equals.

    `truth` may be probabilities: the counts are then expected ones.
    """
    known = ~np.isnan(truth)
    truth, p = truth[known], p[known]
    if len(p) == 0:
        return 0.5
    order = np.argsort(-p)
    truth, p = truth[order], p[order]
    # Cut c predicts the cases before it. No threshold separates equal probabilities,
    # nor predicts a case of probability 0.
    cut = np.flatnonzero(np.concatenate([[True], p[1:] < p[:-1], [p[-1] > 0]]))
    found = np.append(0.0, truth.cumsum())[cut]
    scores = score(found, cut, truth.sum(), len(p))
    thresholds = _midpoints(p, cut)[np.isclose(scores, scores.max(), rtol=1e-12)]
    return float(thresholds[np.abs(thresholds - 0.5).argmin()])


def _midpoints(p: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """A threshold for each cut: a half where it separates them, or their midpoint."""
    ends = np.concatenate([[1.0], p, [0.0]])
    above, below = ends[cut], ends[cut + 1]
    middle = (above + below) / 2
    middle = np.where(middle < above, middle, below)  # neighbouring floats
    return np.where((below <= 0.5) & (above > 0.5), 0.5, middle)


def _f1(found: np.ndarray, cut: np.ndarray, total: float, n_cases: int) -> np.ndarray:
    return 2 * found / np.maximum(cut + total, np.finfo(float).tiny)


def _accuracy(
    found: np.ndarray, cut: np.ndarray, total: float, n_cases: int
) -> np.ndarray:
    return (found + (n_cases - cut) - (total - found)) / n_cases


def _for_whole_sets(truth: Table, p: Table) -> Thresholds:
    """Label after label, twice over: whole sets couple the thresholds."""
    thresholds = np.full(truth.shape[1], 0.5)
    right = ((p > thresholds) == truth) | np.isnan(truth)
    wrong = (~right).sum(1)
    for label in [*range(truth.shape[1])] * 2:
        others = wrong == ~right[:, label]
        if not others.any():
            continue
        thresholds[label] = _best(truth[others, label], p[others, label], _accuracy)
        column = (p[:, label] > thresholds[label]) == truth[:, label]
        wrong += right[:, label]
        right[:, label] = column | np.isnan(truth[:, label])
        wrong -= right[:, label]
    return thresholds
