"""Truth and prediction as arrays of one shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def array(values: Any) -> np.ndarray:
    """Lists, frames, tensors and sparse matrices as an array of floats."""
    if sparse.issparse(values):
        values = values.toarray()
    return np.asarray(values, dtype=np.float64)


def pair(truth: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays. Raises if their shapes differ."""
    one, other = array(truth), array(predicted)
    if one.shape != other.shape:
        raise ValueError(
            "Truth and prediction must have the same shape; got "
            f"{one.shape} and {other.shape}."
        )
    return one, other


def mean_of_known(values: np.ndarray) -> float:
    """The mean of the values that are not NaN; NaN if there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
