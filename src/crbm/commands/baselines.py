"""Answers that any model should beat: the most common one and logistic regression."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from crbm.preprocessing import Table, TableEncoder

Labels = Float[np.ndarray, "cases labels"]
# Cases times inputs times labels up to which logistic regression is fitted.
LARGEST_REGRESSION = 2e9


class Answer(NamedTuple):
    """Predicted labels, and p(v_i = 1 | u)."""

    labels: Bool[np.ndarray, "cases labels"]
    probabilities: Labels


def most_common_answer(Y: Labels, n_cases: int) -> Answer:
    """The most common label set of the training cases, and how common each label is.

    Frequencies are smoothed by adding one case with and one without each label.

    Examples
    --------
    >>> most_common_answer(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), 1)
    Answer(labels=array([[ True, False]]), probabilities=array([[0.6, 0.2]]))
    """
    known = ~np.isnan(Y)
    frequency = (np.nansum(Y, axis=0) + 1) / (known.sum(0) + 2)
    complete = Y[known.all(1)]
    if len(complete):
        sets, counts = np.unique(complete, axis=0, return_counts=True)
        common = sets[counts.argmax()] == 1
    else:
        common = frequency > 0.5
    return Answer(np.tile(common, (n_cases, 1)), np.tile(frequency, (n_cases, 1)))


def logistic_regression(X: Any, Y: Labels, X_new: Any) -> Answer | None:
    """scikit-learn's logistic regression of each label on standardised inputs.

    None where it would take minutes.
    """
    if isinstance(X, Table):
        encoder = TableEncoder().fit(X)
        X, X_new = encoder.transform(X), encoder.transform(X_new)
    if float(X.shape[0]) * X.shape[1] * Y.shape[1] > LARGEST_REGRESSION:
        return None
    scaler = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True),
        StandardScaler(with_mean=not issparse(X)),
    )
    X = scaler.fit_transform(X)
    X_new = scaler.transform(X_new)
    p = np.column_stack([_regress(X, column, X_new) for column in Y.T])
    return Answer(p > 0.5, p)


def _regress(X: Any, y: np.ndarray, X_new: Any) -> np.ndarray:
    """p(y = 1) of new cases; the constant where all known values are the same."""
    known = ~np.isnan(y)
    values = np.unique(y[known])
    if len(values) < 2:
        return np.full(X_new.shape[0], values[0] if len(values) else 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LogisticRegression(max_iter=200).fit(X[known], y[known])
    return fitted.predict_proba(X_new)[:, 1]
