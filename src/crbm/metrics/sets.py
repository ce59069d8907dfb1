"""Measures of predicted label sets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from crbm.metrics.arrays import mean_of_known, pair


def hamming_error(truth: Any, predicted: Any) -> float:
    """Share of wrong labels, as in Table 1 of the paper.

    Examples
    --------
    >>> hamming_error([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.25
    """
    truth, predicted = pair(truth, predicted)
    known = ~np.isnan(truth)
    return float((truth != predicted)[known].mean())


def subset_accuracy(truth: Any, predicted: Any) -> float:
    """Share of cases whose labels are all correct."""
    truth, predicted = pair(truth, predicted)
    return float(((truth == predicted) | np.isnan(truth)).all(axis=1).mean())


def micro_f1(truth: Any, predicted: Any) -> float:
    """F1 over all labels of all cases."""
    return float(_f1(_counts(truth, predicted), empty=0.0))


def macro_f1(truth: Any, predicted: Any) -> float:
    """The mean F1 of the labels; a label never present nor predicted counts 0."""
    return float(_f1(_counts(truth, predicted, axis=0), empty=0.0).mean())


def example_f1(truth: Any, predicted: Any) -> float:
    """The mean F1 of the cases; an empty set predicted as empty counts 1.

    Cases without any known label are left out.

    Examples
    --------
    >>> round(example_f1([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]]), 4)
    0.8333
    """
    counts = _counts(truth, predicted, axis=1)
    return mean_of_known(np.where(counts.known > 0, _f1(counts, empty=1.0), np.nan))


def jaccard(truth: Any, predicted: Any) -> float:
    """The mean Jaccard index of the cases, intersection over union of the two sets.

    An empty set predicted as empty counts 1. Cases without any known label are left
    out.

    Examples
    --------
    >>> jaccard([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]])
    0.75
    """
    counts = _counts(truth, predicted, axis=1)
    union = counts.true + counts.predicted - counts.both
    index = np.where(union > 0, counts.both / np.maximum(union, 1), 1.0)
    return mean_of_known(np.where(counts.known > 0, index, np.nan))


class _Counts(NamedTuple):
    """Labels that are true, predicted, both, and known at all."""

    true: np.ndarray
    predicted: np.ndarray
    both: np.ndarray
    known: np.ndarray


def _counts(truth: Any, predicted: Any, axis: int | None = None) -> _Counts:
    truth, predicted = pair(truth, predicted)
    known = ~np.isnan(truth)
    true, positive = (truth == 1) & known, (predicted == 1) & known
    parts = (true, positive, true & positive, known)
    return _Counts(*(part.sum(axis) for part in parts))


def _f1(counts: _Counts, empty: float) -> np.ndarray:
    """2 both / (true + predicted), or `empty` where both sets are empty."""
    total = counts.true + counts.predicted
    return np.where(total > 0, 2 * counts.both / np.maximum(total, 1), empty)
