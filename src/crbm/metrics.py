"""Measures of multi-label and per-pixel predictions, on top of scikit-learn's.

Errors and accuracies are shares in [0, 1]; labels that are not known (NaN in the truth)
do not count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from sklearn.metrics import f1_score

__all__ = [
    "ReliabilityCurve",
    "all_error",
    "changed_error",
    "expected_calibration_error",
    "hamming_error",
    "joint_log_loss",
    "label_log_loss",
    "macro_f1",
    "micro_f1",
    "reliability_curve",
    "subset_accuracy",
]

Labels = Float[np.ndarray, "cases labels"]


def hamming_error(truth: Any, predicted: Any) -> float:
    """The share of labels that are wrong: the paper's Table 1.

    Examples
    --------
    >>> hamming_error([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.25
    """
    truth, predicted = _pair(truth, predicted)
    known = ~np.isnan(truth)
    return float((truth != predicted)[known].mean())


def subset_accuracy(truth: Any, predicted: Any) -> float:
    """The share of cases whose labels are all right."""
    truth, predicted = _pair(truth, predicted)
    return float(((truth == predicted) | np.isnan(truth)).all(axis=1).mean())


def micro_f1(truth: Any, predicted: Any) -> float:
    """F1 of all labels pooled."""
    return _f1(truth, predicted, "micro")


def macro_f1(truth: Any, predicted: Any) -> float:
    """The mean F1 of the labels; a label never present nor predicted counts 0."""
    return _f1(truth, predicted, "macro")


def all_error(clean: Any, predicted: Any) -> float:
    """The share of wrong pixels: the column All of the paper's Table 2."""
    return hamming_error(clean, predicted)


def changed_error(clean: Any, predicted: Any, noisy: Any) -> float:
    """The share of wrong pixels among those that the noise changed.

    The column Changed of the paper's Table 2; NaN where nothing was changed.

    Examples
    --------
    >>> changed_error(clean=[[1, 1, 0]], predicted=[[1, 0, 0]], noisy=[[1, 0, 1]])
    0.5
    """
    clean, predicted = _pair(clean, predicted)
    changed = clean != _array(noisy)
    return float((clean != predicted)[changed].mean()) if changed.any() else np.nan


def label_log_loss(truth: Any, probabilities: Any, *, least: float = 0.0) -> float:
    """The mean of -log p over single labels, in nats; p counts as no less than `least`.

    Examples
    --------
    >>> round(label_log_loss([[1, 0]], [[0.5, 1.0]], least=0.5), 4)
    0.6931
    """
    truth, p = _pair(truth, probabilities)
    known = ~np.isnan(truth)
    chance = np.where(truth == 1, p, 1 - p)[known].astype(np.float64)
    least = max(least, np.finfo(np.float64).tiny)
    return float(-np.log(np.maximum(chance, least)).mean())


def joint_log_loss(log_probabilities: Any) -> float:
    """The mean of -log p(v | u) over cases; infinite if any v was held impossible."""
    return float(-np.mean(_array(log_probabilities)))


class ReliabilityCurve(NamedTuple):
    """How often labels were present against how likely they were said to be."""

    predicted: Float[np.ndarray, " bins"]
    observed: Float[np.ndarray, " bins"]
    size: Int[np.ndarray, " bins"]


def reliability_curve(
    truth: Any, probabilities: Any, *, n_bins: int = 10
) -> ReliabilityCurve:
    """Mean probability, observed frequency and count in equal bins of probability.

    Examples
    --------
    >>> curve = reliability_curve([[0, 1, 1, 1]], [[0.1, 0.8, 0.8, 0.8]], n_bins=2)
    >>> curve.observed.tolist(), curve.size.tolist()
    ([0.0, 1.0], [1, 3])
    """
    truth, p = _pair(truth, probabilities)
    known = ~np.isnan(truth)
    truth, p = truth[known], p[known]
    which = np.minimum((p * n_bins).astype(int), n_bins - 1)
    count = np.bincount(which, minlength=n_bins)
    full = np.maximum(count, 1)
    return ReliabilityCurve(
        np.bincount(which, weights=p, minlength=n_bins) / full,
        np.bincount(which, weights=truth, minlength=n_bins) / full,
        count,
    )


def expected_calibration_error(
    truth: Any, probabilities: Any, *, n_bins: int = 10
) -> float:
    """The mean gap between said and observed frequency, weighted by bin counts."""
    curve = reliability_curve(truth, probabilities, n_bins=n_bins)
    gap = np.abs(curve.predicted - curve.observed)
    return float((gap * curve.size).sum() / curve.size.sum())


def _f1(truth: Any, predicted: Any, average: str) -> float:
    truth, predicted = _pair(truth, predicted)
    if average == "micro":
        return _known_f1(truth.ravel(), predicted.ravel())
    columns = zip(truth.T, predicted.T, strict=True)
    return float(np.mean([_known_f1(*column) for column in columns]))


def _known_f1(truth: np.ndarray, predicted: np.ndarray) -> float:
    known = ~np.isnan(truth)
    return float(f1_score(truth[known], predicted[known], zero_division=0))


def _array(values: Any) -> np.ndarray:
    if sparse.issparse(values):
        values = values.toarray()
    return np.asarray(values, dtype=np.float64)


def _pair(truth: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    one, other = _array(truth), _array(predicted)
    if one.shape != other.shape:
        raise ValueError(
            "Truth and prediction must have the same shape; got "
            f"{one.shape} and {other.shape}."
        )
    return one, other
