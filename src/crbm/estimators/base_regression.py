"""The base regression of `CRBMRegressor`, and its predictions for unseen cases."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

PENALTIES = np.logspace(-3, 4, 15)
N_FOLDS = 5


class Ridge:
    """Ridge regression of each target on scaled inputs, as plain arrays."""

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> Ridge:
        """Learn one target; the penalty is chosen by leave-one-out."""
        center, spread = X.mean(0), X.std(0)
        scale = np.where(spread > 1e-12, spread, np.inf)
        found = RidgeCV(PENALTIES).fit((X - center) / scale, y, sample_weight)
        self.coef_ = found.coef_ / scale
        self.intercept_ = float(found.intercept_ - self.coef_ @ center)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The expected target."""
        return X @ self.coef_ + self.intercept_


def dense(X: Any) -> np.ndarray:
    """Inputs as an array of doubles."""
    rows = X.toarray() if sparse.issparse(X) else X
    return np.asarray(rows, dtype=np.float64)


def fit(
    base: Any, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None
) -> tuple[list[Any], np.ndarray]:
    """Fitted regressors, and predictions for each case by those that left it out."""
    n_folds = min(N_FOLDS, len(X) // 2)
    predicted = np.zeros_like(Y)
    if n_folds < 2:
        return _fit_all(base, X, Y, weight), predicted
    for train, test in KFold(n_folds, shuffle=True, random_state=0).split(X):
        own = None if weight is None else weight[train]
        predicted[test] = predict(_fit_all(base, X[train], Y[train], own), X[test])
    return _fit_all(base, X, Y, weight), predicted


def predict(fitted: list[Any], X: np.ndarray) -> np.ndarray:
    """The expected targets."""
    return np.column_stack([regressor.predict(X) for regressor in fitted])


def _fit_all(
    base: Any, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None
) -> list[Any]:
    """One regressor for all targets, or one each where some values are missing."""
    missing = np.isnan(Y)
    if base is not None and not missing.any():
        targets = [Y[:, 0] if Y.shape[1] == 1 else Y]
        return [_fit_one(base, X, target, weight) for target in targets]
    return [
        _fit_one(base, X[~gone], y[~gone], None if weight is None else weight[~gone])
        for y, gone in zip(Y.T, missing.T, strict=True)
    ]


def _fit_one(base: Any, X: np.ndarray, y: np.ndarray, weight: Any) -> Any:
    regressor = Ridge() if base is None else clone(base)
    if len(y) < 2:  # nothing to learn from
        X, y = np.zeros((2, X.shape[1])), np.repeat(y[:1] if len(y) else [0.0], 2)
        weight = None
    if weight is None:
        return regressor.fit(X, y)
    return regressor.fit(X, y, sample_weight=weight)
