"""Measures of how well scores rank the labels of each case."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import rankdata

from crbm import checks
from crbm.metrics.arrays import mean_of_known, pair

Scores = Float[np.ndarray, "cases labels"]
Mask = Bool[np.ndarray, "cases labels"]


def average_precision(truth: Any, scores: Any) -> float:
    """Label-ranking average precision, the mean over cases.

    For each true label, the share of true labels among those that score at least as
    high; averaged over the true labels of a case, then over cases. This is the
    "average precision" of the multi-label literature and scikit-learn's
    `label_ranking_average_precision_score`, not the area under a precision-recall
    curve. A case whose labels are all true or all false counts 1; one without any known
    label is left out.

    Examples
    --------
    >>> round(average_precision([[1, 0, 1]], [[0.9, 0.8, 0.1]]), 4)
    0.8333
    """
    true, known, scores = _with_masks(truth, scores)
    above, n_true = _rank(scores, known), true.sum(1)
    precision = np.where(true, _rank(scores, true) / above, 0).sum(1)
    mixed = (n_true > 0) & (n_true < known.sum(1))
    precision = np.where(mixed, precision / np.maximum(n_true, 1), 1.0)
    return mean_of_known(np.where(known.any(1), precision, np.nan))


def ranking_loss(truth: Any, scores: Any) -> float:
    """The share of pairs of a true and a false label that are ranked wrongly.

    Averaged over cases; ties are wrong. A case whose labels are all true or all false
    counts 0; one without any known label is left out. The same as scikit-learn's
    `label_ranking_loss`.

    Examples
    --------
    >>> ranking_loss([[1, 0, 1]], [[0.9, 0.8, 0.1]])
    0.5
    """
    true, known, scores = _with_masks(truth, scores)
    false_above = _rank(scores, known) - _rank(scores, true)
    wrong = np.where(true, false_above, 0).sum(1)
    n_pairs = true.sum(1) * (known & ~true).sum(1)
    loss = wrong / np.maximum(n_pairs, 1)
    return mean_of_known(np.where(known.any(1), loss, np.nan))


def precision_at_k(truth: Any, scores: Any, k: int = 3) -> float:
    """The share of true labels among the k best-scored known ones of each case.

    Ties go to the first label. A case with fewer than k known labels counts those it
    has; one without any is left out.

    Examples
    --------
    >>> precision_at_k([[1, 0, 1, 0]], [[0.9, 0.8, 0.1, 0.2]], k=2)
    0.5
    """
    checks.whole_number("k", k, at_least=1)
    true, known, scores = _with_masks(truth, scores)
    order = np.argsort(np.where(known, -scores, np.inf), axis=1, kind="stable")[:, :k]
    n_true = np.take_along_axis(true, order, axis=1).sum(1)
    n_best = np.minimum(known.sum(1), k)
    return mean_of_known(np.where(n_best > 0, n_true / np.maximum(n_best, 1), np.nan))


def _with_masks(truth: Any, scores: Any) -> tuple[Mask, Mask, Scores]:
    """Which labels are true, which are known, and the scores."""
    truth, scores = pair(truth, scores)
    known = ~np.isnan(truth)
    return (truth == 1) & known, known, scores


def _rank(scores: Scores, among: Mask) -> Int[np.ndarray, "cases labels"]:
    """How many of the labels in `among` score at least as high as each of them."""
    rank = rankdata(np.where(among, -scores, np.inf), method="max", axis=1)
    return rank.astype(np.int64)
