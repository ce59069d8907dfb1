"""The base regression of `CRBMRegressor`, and its predictions for unseen cases."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from crbm.estimators import base_blend
from crbm.estimators.base_blend import Ridge

PENALTIES = np.logspace(-3, 4, 15)
N_FOLDS = 5
NAMES = ("auto", "ridge")


def _ridges(X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None) -> list[Ridge]:
    """A regression for each target; the penalties are chosen by leave-one-out."""
    center, spread = X.mean(0), X.std(0)
    scale = np.where(spread > 1e-12, spread, np.inf)
    several = Y.shape[1] > 1
    found = RidgeCV(PENALTIES, alpha_per_target=several)
    found.fit((X - center) / scale, Y if several else Y[:, 0], weight)
    coefs = np.atleast_2d(found.coef_) / scale
    constants = np.atleast_1d(found.intercept_) - coefs @ center
    return [Ridge(*pair) for pair in zip(coefs, constants.tolist(), strict=True)]


def dense(X: Any) -> np.ndarray:
    """Inputs as an array of doubles."""
    rows = X.toarray() if sparse.issparse(X) else X
    return np.asarray(rows, dtype=np.float64)


def fit(
    base: Any, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None
) -> tuple[list[Any], np.ndarray]:
    """Fitted regressors, and predictions for each case by those that left it out.

    `base` is a regressor of scikit-learn, "ridge" (or None), or "auto", ridge
    regression and trees.
    """
    if isinstance(base, str) and base == "auto":
        ridges, linear = fit("ridge", X, Y, weight)
        blend, unseen = base_blend.fit(ridges, linear, X, Y, weight)
        return [blend], unseen
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
    if not missing.any():
        return _fit_complete(base, X, Y, weight)
    fitted = []
    for y, gone in zip(Y.T, missing.T, strict=True):
        own = None if weight is None else weight[~gone]
        fitted += _fit_complete(base, X[~gone], y[~gone, None], own)
    return fitted


def _fit_complete(
    base: Any, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None
) -> list[Any]:
    if len(Y) < 2:  # nothing to learn from
        means = Y.mean(0) if len(Y) else np.zeros(Y.shape[1])
        return [Ridge(np.zeros(X.shape[1]), float(mean)) for mean in means]
    if base is None or isinstance(base, str):
        return _ridges(X, Y, weight)
    regressor, target = clone(base), Y[:, 0] if Y.shape[1] == 1 else Y
    if weight is None:
        return [regressor.fit(X, target)]
    return [regressor.fit(X, target, sample_weight=weight)]
