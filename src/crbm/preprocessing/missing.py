"""Missing numbers: replaced by the median, and marked where that was needed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

ROWS_FOR_MEDIANS = 10_000  # more change a median little


@dataclass
class MissingValues:
    """Medians in place of missing numbers, and columns that mark them.

    A column that misses values in training gets a further column, which is 1 where
    they are missing. A sparse matrix gets neither: its missing numbers become 0.

    Parameters
    ----------
    medians
        Of each column.
    marked
        The numbers of the columns that missed values in training.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [np.nan, 5.0], [3.0, 8.0]])
    >>> MissingValues.learn(X).transform(X)
    array([[1., 5., 0.],
           [2., 5., 1.],
           [3., 8., 0.]])
    """

    medians: np.ndarray
    marked: np.ndarray

    def __post_init__(self) -> None:
        n_columns = len(self.medians)
        if self.medians.ndim != 1 or self.marked.ndim != 1:
            raise ValueError("medians must be one number per column")
        if not np.isin(self.marked, np.arange(n_columns)).all():
            raise ValueError(f"a marked column is not among {n_columns} columns")

    @classmethod
    def learn(cls, X: Any) -> MissingValues:
        """Learn the medians of the columns and which of them miss values."""
        if issparse(X):
            return cls(np.zeros(X.shape[1]), np.zeros(0, dtype=np.int64))
        marked = np.flatnonzero(np.isnan(X).any(axis=0))
        step = max(1, len(X) // ROWS_FOR_MEDIANS)
        medians = np.median(X[::step], axis=0).astype(np.float64)
        medians[marked] = _medians(X[:, marked])
        return cls(medians, marked)

    def transform(self, X: Any) -> Any:
        """The rows without missing values, then the marks."""
        if issparse(X):
            return _without_nan(X)
        gone = np.isnan(X)
        if gone.any():
            X = np.where(gone, self.medians.astype(X.dtype), X)
        if not len(self.marked):
            return X
        return np.hstack([X, gone[:, self.marked]], dtype=X.dtype)

    def n_outputs(self, n_features: int) -> int:
        """The number of columns that `n_features` columns become."""
        if len(self.medians) != n_features:
            raise ValueError(
                f"the medians are of {len(self.medians)} columns, not {n_features}"
            )
        return n_features + len(self.marked)


def _medians(X: np.ndarray) -> np.ndarray:
    """Medians of the values that are not missing; 0 for a column without any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an empty column has none
        return np.nan_to_num(np.nanmedian(X, axis=0), nan=0.0)


def _without_nan(X: Any) -> Any:
    if not np.isnan(X.data).any():
        return X
    X = X.copy()
    X.data = np.nan_to_num(X.data, nan=0.0)
    return X
