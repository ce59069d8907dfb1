"""Turn the scores of an opponent into probabilities and the best answers.

Everything here is learned on cases that the opponent held out of its training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from crbm import decisions, metrics
from crbm.decisions import Joint
from paper.engine.judging import (
    ANSWERS,
    LEAST,
    LOWER,
    SCORES,
    Forecast,
    Thresholds,
    best_answers,
    independent_nll,
)

RULES = ("labels", "sets", "sign")
RULED = ("hamming", "subset", "example_f1", "jaccard")  # the others have thresholds


@dataclass
class LabelReadout:
    """Probabilities of single labels: log-odds = a score + b base rate + c.

    Parameters
    ----------
    base
        Log-odds of each label in training.
    table
        Label sets seen in training, which whole sets may be chosen from.
    """

    base: np.ndarray
    table: np.ndarray

    def fit(self, scores: np.ndarray, Y: np.ndarray) -> LabelReadout:
        """Learn a, b, c, the thresholds, and which rule to answer by.

        The rules are the best answers if labels are independent, the best answers if
        only label sets of the training cases are possible, and the sign of the score.
        """
        self.calibrate(scores, Y)
        self.thresholds = Thresholds.from_marginals(self.probabilities(scores))
        self.rules = {name: self._best_rule(name, scores, Y) for name in RULED}
        return self

    def calibrate(self, scores: np.ndarray, Y: np.ndarray) -> LabelReadout:
        """Learn a, b and c."""
        self.calibration = None
        if np.ptp(Y):
            model = LogisticRegression(C=100.0, max_iter=300)
            self.calibration = model.fit(self._features(scores), Y.ravel())
        return self

    def _best_rule(self, name: str, scores: np.ndarray, Y: np.ndarray) -> str:
        """The rule with the best score on held-out cases."""
        sign = -1 if name in LOWER else 1

        def score(rule: str) -> float:
            return sign * SCORES[name](Y, self._answer(name, rule, scores))

        return max(RULES, key=score)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """p(v_i = 1 | u) of each label."""
        if self.calibration is None:
            return expit(scores)
        logits = self.calibration.decision_function(self._features(scores))
        return expit(logits.reshape(scores.shape))

    def forecast(
        self, scores: np.ndarray, truth: np.ndarray, **details: Any
    ) -> Forecast:
        """The answers for test cases."""
        p = self.probabilities(scores)
        answers = {
            name: self._answer(name, rule, scores) for name, rule in self.rules.items()
        }
        answers["micro_f1"] = p > self.thresholds.micro_f1
        answers["macro_f1"] = p > self.thresholds.macro_f1
        details["rules"] = self.rules
        return Forecast(answers, p, independent_nll(truth, p), details)

    def _features(self, scores: np.ndarray) -> np.ndarray:
        base = np.broadcast_to(self.base, scores.shape)
        return np.stack([scores.ravel(), base.ravel()], axis=1)

    def _answer(self, name: str, rule: str, scores: np.ndarray) -> np.ndarray:
        """The best answer for a measure by one of the rules."""
        if rule == "sign":
            return scores > 0
        p = self.probabilities(scores)
        joint = Joint.independent(p) if rule == "labels" else self._joint_of_seen(p)
        return decisions.best(ANSWERS[name], joint)

    def _joint_of_seen(self, p: np.ndarray) -> Joint:
        """Independent labels, given that the label set was seen in training."""
        p = p.clip(LEAST, 1 - LEAST)
        odds = np.log(p) - np.log1p(-p)
        return Joint(softmax(odds @ self.table.T, axis=1), self.table.astype(float))


@dataclass
class SetReadout:
    """Probabilities of label sets: a softmax of scores, mixed with single labels.

    Parameters
    ----------
    base
        Log-odds of each label in training.
    table
        The label sets that have scores.
    """

    base: np.ndarray
    table: np.ndarray

    def fit(self, scores: np.ndarray, Y: np.ndarray) -> SetReadout:
        """Learn the temperature, the share of single labels and the thresholds."""
        place = {bytes(row): i for i, row in enumerate(self.table.astype(np.uint8))}
        keys = map(bytes, np.ascontiguousarray(Y, dtype=np.uint8))
        own = np.array([place.get(key, -1) for key in keys])
        seen = own >= 0

        def loss(log_scale: float) -> float:
            log_p = log_softmax(scores[seen] * np.exp(log_scale), axis=1)
            return -float(log_p[np.arange(seen.sum()), own[seen]].mean())

        bounds = (-4.0, 4.0)
        self.scale = 1.0
        if seen.any():
            found = minimize_scalar(loss, bounds=bounds, method="bounded")
            self.scale = float(np.exp(found.x))
        # add-one smoothing: neither the table nor the labels are certain
        self.share = float((~seen).sum() + 1) / (len(seen) + 2)
        joint = self.joint(scores)
        self.thresholds = Thresholds.from_marginals(decisions.marginals(joint))
        by_label = decisions.best("hamming", joint)
        by_set = self.table[scores.argmax(1)] == 1
        errors = [metrics.hamming_error(Y, answer) for answer in (by_label, by_set)]
        self.rule = "probability" if errors[0] <= errors[1] else "set"
        return self

    def joint(self, scores: np.ndarray) -> Joint:
        """p(v | u): the label sets, and independent labels with the same marginals."""
        weight = np.exp(log_softmax(scores * self.scale, axis=1))
        product = 0.95 * weight @ self.table + 0.05 * expit(self.base)
        return Joint(weight, self.table.astype(float), product, self.share)

    def forecast(
        self, scores: np.ndarray, truth: np.ndarray, **details: Any
    ) -> Forecast:
        """The answers for test cases; whole sets are those with the highest score."""
        joint = self.joint(scores)
        answers = best_answers(joint, self.thresholds)
        answers["subset"] = self.table[scores.argmax(1)] == 1
        if self.rule == "set":
            answers["hamming"] = answers["subset"]
        details |= {"rules": {"hamming": self.rule}, "share": self.share}
        nll = -float(self._log_likelihood(joint, truth).mean())
        return Forecast(answers, decisions.marginals(joint), nll, details)

    def _log_likelihood(self, joint: Joint, truth: np.ndarray) -> np.ndarray:
        """log p(v | u) of the true label sets."""
        same = truth.astype(float) @ self.table.T  # labels in both
        same += (1.0 - truth) @ (1 - self.table.T)  # labels in neither
        of_table = ((same == truth.shape[1]) * joint.weight).sum(1)
        p = np.where(truth == 1, joint.product, 1 - joint.product).clip(LEAST)
        of_labels = np.log(self.share) + np.log(p).sum(1)
        tiny = np.finfo(float).tiny
        return np.logaddexp(np.log((1 - self.share) * of_table + tiny), of_labels)
