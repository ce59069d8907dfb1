"""Measures of predicted probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from crbm.metrics.arrays import array, pair


def label_log_loss(truth: Any, probabilities: Any, *, least: float = 0.0) -> float:
    """The mean of -log p over single labels, in nats.

    A probability below `least` counts as `least`.

    Examples
    --------
    >>> round(label_log_loss([[1, 0]], [[0.5, 1.0]], least=0.5), 4)
    0.6931
    """
    truth, p = pair(truth, probabilities)
    known = ~np.isnan(truth)
    p_truth = np.where(truth == 1, p, 1 - p)[known].astype(np.float64)
    least = max(least, np.finfo(np.float64).tiny)
    return float(-np.log(np.maximum(p_truth, least)).mean())


def joint_log_loss(log_probabilities: Any) -> float:
    """The mean of -log p(v | u) in nats over the cases with p(v | u) > 0.

    Report it with `impossible_share`, the share of cases left out because p(v | u) = 0.
    NaN if all are left out.

    Examples
    --------
    >>> joint_log_loss([-1.0, -3.0, -np.inf])
    2.0
    """
    values = array(log_probabilities)
    possible = values[~np.isneginf(values)]
    return float(-possible.mean()) if len(possible) else float("nan")


def impossible_share(log_probabilities: Any) -> float:
    """The share of cases whose labels have probability 0: log p(v | u) = -inf.

    Examples
    --------
    >>> impossible_share([-1.0, -3.0, -np.inf, -2.0])
    0.25
    """
    return float(np.isneginf(array(log_probabilities)).mean())


class ReliabilityCurve(NamedTuple):
    """Mean predicted probability, observed frequency and size of each bin."""

    predicted: Float[np.ndarray, " bins"]
    observed: Float[np.ndarray, " bins"]
    size: Int[np.ndarray, " bins"]


def reliability_curve(
    truth: Any, probabilities: Any, *, n_bins: int = 10
) -> ReliabilityCurve:
    """The reliability curve of single labels, in bins of equal width.

    Examples
    --------
    >>> curve = reliability_curve([[0, 1, 1, 1]], [[0.1, 0.8, 0.8, 0.8]], n_bins=2)
    >>> curve.observed.tolist(), curve.size.tolist()
    ([0.0, 1.0], [1, 3])
    """
    truth, p = pair(truth, probabilities)
    known = ~np.isnan(truth)
    truth, p = truth[known], p[known]
    which = np.minimum((p * n_bins).astype(int), n_bins - 1)
    count = np.bincount(which, minlength=n_bins)
    divisor = np.maximum(count, 1)
    return ReliabilityCurve(
        np.bincount(which, weights=p, minlength=n_bins) / divisor,
        np.bincount(which, weights=truth, minlength=n_bins) / divisor,
        count,
    )


def expected_calibration_error(
    truth: Any, probabilities: Any, *, n_bins: int = 10
) -> float:
    """Mean of |predicted probability - observed frequency|, weighted by bin size."""
    curve = reliability_curve(truth, probabilities, n_bins=n_bins)
    gap = np.abs(curve.predicted - curve.observed)
    return float((gap * curve.size).sum() / curve.size.sum())
