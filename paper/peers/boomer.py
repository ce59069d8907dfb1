"""BOOMER: gradient-boosted rules over all labels together."""

from __future__ import annotations

import numpy as np

from paper.peers.trees import log_odds


class Boomer:
    """Rules that minimise the logistic loss of single labels."""

    def __init__(self, max_rules: int = 1000, shrinkage: float = 0.3) -> None:
        self.params = {"max_rules": max_rules, "shrinkage": shrinkage}

    def fit(self, X: np.ndarray, Y: np.ndarray) -> Boomer:
        """Learn the rules."""
        from mlrl.boosting import BoomerClassifier

        self.model = BoomerClassifier(
            **self.params,
            loss="logistic-decomposable",
            parallel_rule_refinement="false",
            parallel_statistic_update="false",
            parallel_prediction="false",
        )
        self.model.fit(X.astype(np.float32), Y)
        return self

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Log-odds of each label."""
        p = self.model.predict_proba(X.astype(np.float32))
        return log_odds(np.asarray(p, dtype=float))
