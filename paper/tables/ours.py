"""Our classifier in the suite: `AutoClassifier`, asked for each measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crbm.estimators import AutoClassifier
from paper.engine.judging import ANSWERS, Forecast
from paper.tables.problems import Problem


@dataclass(frozen=True)
class Auto:
    """`AutoClassifier()` without any parameter but its metric.

    It is fitted once: the joint distribution does not depend on the metric.
    """

    def summary(self) -> dict[str, Any]:
        """What the outcome depends on, as JSON."""
        return {"estimator": "AutoClassifier"}

    def forecast(self, problem: Problem, seed: int) -> Forecast:
        """Fit to the training cases, answer for the test."""
        auto = AutoClassifier(random_state=seed)
        auto.fit(problem.X_train, problem.Y_train)
        answers = {}
        for name, metric in ANSWERS.items():
            auto.set_params(metric=metric)
            auto._set_thresholds()
            answers[name] = auto.predict(problem.X_test) == 1
        p = auto.predict_proba(problem.X_test)
        log_p = auto.score_samples(problem.X_test, problem.Y_test)
        return Forecast(answers, np.asarray(p), -float(log_p.mean()), details(auto))


def details(auto: AutoClassifier) -> dict[str, Any]:
    """The members and their weights, as JSON."""
    board = [
        {"member": e.member, "log_loss": e.log_loss, "seconds": round(e.seconds, 1)}
        for e in auto.leaderboard_
    ]
    return {"leaderboard": board}


MODELS = {"AutoClassifier": Auto()}
