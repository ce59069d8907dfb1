"""Forecasts of models, and every measure of them, each by its own best answer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from crbm import decisions, metrics
from crbm.decisions import Joint

LEAST = 1e-6  # lower bound on p in log losses: no model is ruined by one case
# The measures that need an answer, by their names in rows and in `crbm.decisions`.
ANSWERS = {
    "hamming": "hamming",
    "subset": "subset_accuracy",
    "example_f1": "example_f1",
    "jaccard": "jaccard",
    "micro_f1": "micro_f1",
    "macro_f1": "macro_f1",
}
SCORES = {
    "hamming": metrics.hamming_error,
    "subset": metrics.subset_accuracy,
    "example_f1": metrics.example_f1,
    "jaccard": metrics.jaccard,
    "micro_f1": metrics.micro_f1,
    "macro_f1": metrics.macro_f1,
}
# Measures of which a lower value is better.
LOWER = {"hamming", "ranking_loss", "log_loss", "nll", "calibration"}


class Forecast(NamedTuple):
    """What a model says about some cases.

    Parameters
    ----------
    answers
        The best answer for each measure of `ANSWERS`.
    marginals
        p(v_i = 1 | u) of each label.
    nll
        The mean of -log p(v | u) of the true label sets.
    details
        The chosen parameters, as JSON.
    """

    answers: dict[str, np.ndarray]
    marginals: np.ndarray
    nll: float
    details: dict[str, Any]


class Thresholds(NamedTuple):
    """The thresholds that maximise expected micro and macro F1."""

    micro_f1: float
    macro_f1: np.ndarray

    @classmethod
    def from_marginals(cls, p: np.ndarray) -> Thresholds:
        """From the probabilities of cases that the model did not learn from."""
        return cls(decisions.micro_f1_threshold(p), decisions.macro_f1_thresholds(p))


def best_answers(joint: Joint, thresholds: Thresholds) -> dict[str, np.ndarray]:
    """The best answer for each measure, from the joint distribution of the cases."""
    p = decisions.marginals(joint)
    answers = {
        name: decisions.best(measure, joint)
        for name, measure in ANSWERS.items()
        if name not in Thresholds._fields
    }
    answers["micro_f1"] = p > thresholds.micro_f1
    answers["macro_f1"] = p > thresholds.macro_f1
    return answers


def measure(forecast: Forecast, truth: np.ndarray) -> dict[str, float]:
    """All measures: percent, except `log_loss` and `nll`, which are in nats."""
    p = forecast.marginals
    scores = {
        name: 100 * score(truth, forecast.answers[name])
        for name, score in SCORES.items()
    }
    return {
        **scores,
        "average_precision": 100 * metrics.average_precision(truth, p),
        "ranking_loss": 100 * metrics.ranking_loss(truth, p),
        "precision_at_3": 100 * metrics.precision_at_k(truth, p, k=3),
        "log_loss": metrics.label_log_loss(truth, p, least=LEAST),
        "nll": forecast.nll,
        "calibration": 100 * metrics.expected_calibration_error(truth, p),
    }


def independent_nll(truth: np.ndarray, p: np.ndarray) -> float:
    """The mean of -log p(v | u) of independent labels."""
    return truth.shape[1] * metrics.label_log_loss(truth, p, least=LEAST)
