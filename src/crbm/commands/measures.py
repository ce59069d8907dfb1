"""The measures that commands report, over all labels and of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from crbm import metrics

OF_LABELS = (
    metrics.hamming_error,
    metrics.subset_accuracy,
    metrics.example_f1,
    metrics.jaccard,
    metrics.micro_f1,
    metrics.macro_f1,
)
OF_PROBABILITIES = (
    metrics.average_precision,
    metrics.ranking_loss,
    metrics.label_log_loss,
    metrics.expected_calibration_error,
)


def overall_measures(
    X: Any, Y: np.ndarray, predicted: np.ndarray, p: np.ndarray
) -> dict[str, float]:
    """The measures over all labels."""
    found = {measure.__name__: measure(Y, predicted) for measure in OF_LABELS}
    found |= {measure.__name__: measure(Y, p) for measure in OF_PROBABILITIES}
    if _is_denoising(X, Y):
        found["changed_error"] = metrics.changed_error(Y, predicted, X)
    return found


def label_measures(
    names: Sequence[str], Y: np.ndarray, predicted: np.ndarray, p: np.ndarray
) -> list[dict[str, Any]]:
    """The measures of each label; unknown ones (NaN) are left out."""
    columns = zip(names, Y.T, predicted.T, p.T, strict=True)
    return [_of_label(*column) for column in columns]


def meaning(measure: str) -> str:
    """The first line of a measure's docstring."""
    return (getattr(metrics, measure).__doc__ or "").split("\n", 1)[0]


def _of_label(
    name: str, truth: np.ndarray, predicted: np.ndarray, p: np.ndarray
) -> dict[str, Any]:
    known = ~np.isnan(truth.astype(float))
    truth, predicted, p = truth[known], predicted[known], p[known]
    true, said = truth == 1, predicted == 1
    found = int((true & said).sum())
    return {
        "label": name,
        "frequency": float(true.mean()) if len(true) else float("nan"),
        "n_present": int(true.sum()),
        "n_predicted": int(said.sum()),
        "error": float((true != said).mean()) if len(true) else float("nan"),
        "precision": found / max(int(said.sum()), 1),
        "recall": found / max(int(true.sum()), 1),
        "f1": 2 * found / max(int(said.sum() + true.sum()), 1),
        "log_loss": metrics.label_log_loss(truth[:, None], p[:, None]),
    }


def _is_denoising(X: Any, Y: np.ndarray) -> bool:
    """Whether the inputs are noisy versions of the outputs."""
    if not isinstance(X, np.ndarray) or issparse(X) or X.shape != Y.shape:
        return False
    return bool(np.isin(X, (0, 1)).all())
