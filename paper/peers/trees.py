"""Forests over all labels together, and boosted trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.model_selection import train_test_split

LEAST = 1e-3  # lower bound on the probabilities of trees


class Forest:
    """A random forest or extremely randomised trees, with all labels in each tree."""

    def __init__(
        self,
        kind: str,
        max_features: float | str = "sqrt",
        min_samples_leaf: int = 1,
        n_estimators: int = 300,
    ) -> None:
        kinds = {"random": RandomForestClassifier, "extra": ExtraTreesClassifier}
        self.trees = kinds[kind](
            n_estimators,
            max_features=max_features,
            min_samples_leaf=min_samples_leaf,
            random_state=0,
        )

    def fit(self, X: np.ndarray, Y: np.ndarray) -> Forest:
        """Fit all trees."""
        self.trees.fit(X, Y)
        return self

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Log-odds of each label."""
        found = self.trees.predict_proba(X)
        classes = self.trees.classes_
        if not isinstance(found, list):
            found, classes = [found], [classes]
        columns = [_present(p, own) for p, own in zip(found, classes, strict=True)]
        return log_odds(np.stack(columns, axis=1))


class Boosting:
    """scikit-learn's histogram gradient boosting, one model per label."""

    def __init__(self, learning_rate: float = 0.1, max_leaf_nodes: int = 15) -> None:
        self.params = {"learning_rate": learning_rate, "max_leaf_nodes": max_leaf_nodes}

    def fit(self, X: np.ndarray, Y: np.ndarray) -> Boosting:
        """Fit all labels; each stops by a tenth of the cases that it holds out."""
        self.constant = log_odds(Y[:1].astype(float))[0]
        self.labels = {i: self._fit_label(X, y) for i, y in enumerate(Y.T) if np.ptp(y)}
        return self

    def _fit_label(
        self, X: np.ndarray, y: np.ndarray
    ) -> HistGradientBoostingClassifier:
        # a held-out tenth needs both classes to be stratified
        enough = min(y.sum(), len(y) - y.sum()) >= 10
        return HistGradientBoostingClassifier(
            **self.params,
            max_iter=200 if enough else 30,
            early_stopping=bool(enough),
            random_state=0,
        ).fit(X, y)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Log-odds of each label."""
        values = np.tile(self.constant, (len(X), 1))
        for i, model in self.labels.items():
            values[:, i] = model.decision_function(X)
        return values


class CatBoost:
    """CatBoost's MultiLogloss: trees whose leaves hold all labels."""

    def __init__(self, depth: int = 4, learning_rate: float = 0.1) -> None:
        self.params = {"depth": depth, "learning_rate": learning_rate}

    def fit(self, X: np.ndarray, Y: np.ndarray) -> CatBoost:
        """Fit up to 500 trees, stopped by a tenth of the cases."""
        from catboost import CatBoostClassifier

        self.varies = np.ptp(Y, axis=0) > 0
        self.constant = log_odds(Y[:1].astype(float))[0]
        model = CatBoostClassifier(
            **self.params,
            loss_function="MultiLogloss",
            iterations=500,
            early_stopping_rounds=20,
            random_seed=0,
            thread_count=1,
            allow_writing_files=False,
            verbose=False,
        )
        own, held = _with_held_out(X, Y[:, self.varies])
        self.model = model.fit(*own, eval_set=held)
        return self

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Log-odds of each label."""
        values = np.tile(self.constant, (len(X), 1))
        found = self.model.predict(X, prediction_type="RawFormulaVal")
        values[:, self.varies] = np.reshape(found, (len(X), -1))
        return values


class XGBoost:
    """XGBoost's multi-output trees: leaves hold all labels."""

    def __init__(self, max_depth: int = 4, learning_rate: float = 0.2) -> None:
        self.params = {"max_depth": max_depth, "learning_rate": learning_rate}

    def fit(self, X: np.ndarray, Y: np.ndarray) -> XGBoost:
        """Fit up to 300 trees, stopped by a tenth of the cases."""
        from xgboost import XGBClassifier

        own, held = _with_held_out(X, Y)
        self.model = XGBClassifier(
            **self.params,
            n_estimators=300,
            multi_strategy="multi_output_tree",
            tree_method="hist",
            max_bin=64,
            early_stopping_rounds=10,
            n_jobs=1,
            random_state=0,
        ).fit(*own, eval_set=[held], verbose=False)
        return self

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Log-odds of each label."""
        return log_odds(np.asarray(self.model.predict_proba(X), dtype=float))


def log_odds(p: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)), with p at least `LEAST` and at most 1 - `LEAST`."""
    p = p.clip(LEAST, 1 - LEAST)
    return np.log(p) - np.log1p(-p)


def _present(p: np.ndarray, classes: Any) -> np.ndarray:
    """The probability that a label is present; a constant label has one class."""
    if len(classes) == 1:
        return np.full(len(p), float(classes[0]))
    return p[:, 1]


def _with_held_out(X: np.ndarray, Y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    X_own, X_held, Y_own, Y_held = train_test_split(X, Y, test_size=0.1, random_state=0)
    return [(X_own, Y_own), (X_held, Y_held)]
