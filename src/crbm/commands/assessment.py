"""How good a model is on rows that it did not learn from, beside simple answers."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from sklearn.base import clone

from crbm import metrics
from crbm.commands.baselines import Answer, logistic_regression, most_common_answer
from crbm.commands.data import to_dense
from crbm.commands.tables import to_inputs
from crbm.datasets import Dataset
from crbm.estimators import LabelSetClassifier
from crbm.stratification import stratified_blocks

Rows = Int[np.ndarray, "..."]
# Fewer rows are not worth dividing.
FEWEST_ROWS = 20
# Parameters of a run that a second fit must not share.
ONLY_ONCE = {"checkpoint_dir": None, "resume": False}
MOST_COMMON, REGRESSION = "most common answer", "logistic regression"


class Assessment(NamedTuple):
    """Predictions for held-out rows.

    Parameters
    ----------
    model
        The name of the model among the answers.
    answers
        Labels and probabilities by name: of the model, the most common answer and,
        unless there is too much data, logistic regression.
    truth
        The labels of the held-out rows.
    n_train
        The number of rows that the answers were learned from.
    """

    model: str
    answers: dict[str, Answer]
    truth: np.ndarray
    n_train: int

    def scores(self) -> dict[str, dict[str, float]]:
        """The measures of each answer."""
        return {name: scores(self.truth, a) for name, a in self.answers.items()}

    def as_dict(self) -> dict[str, Any]:
        """The numbers of rows and the measures as plain data."""
        counts = {"n_cases": len(self.truth), "n_train": self.n_train}
        return {**counts, "metrics": self.scores()}


def scores(truth: np.ndarray, answer: Answer) -> dict[str, float]:
    """The measures of one answer."""
    labels, p = answer
    return {
        "hamming_error": metrics.hamming_error(truth, labels),
        "subset_accuracy": metrics.subset_accuracy(truth, labels),
        "example_f1": metrics.example_f1(truth, labels),
        "macro_f1": metrics.macro_f1(truth, labels),
        "label_log_loss": metrics.label_log_loss(truth, p),
    }


def assess(
    classifier: LabelSetClassifier,
    data: Dataset,
    *,
    fraction: float = 0.1,
    **fit_options: Any,
) -> Assessment:
    """Fit a copy of a classifier to a part of the data and predict the rest.

    Parameters
    ----------
    classifier
        A classifier, fitted or not; it is left as it is.
    data
        All training rows. The held-out ones have each label as often as the others.
    fraction
        The share of the rows to hold out.
    fit_options
        Further arguments of `fit`.
    """
    X, Y = to_inputs(data.X), to_dense(data.Y).astype(float)
    train, test = divided(data, fraction)
    own = {k: v for k, v in ONLY_ONCE.items() if k in classifier.get_params()}
    fitted = clone(classifier).set_params(**own)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first fit has given them
        fitted.fit(X[train], data.targets[train], **fit_options)
        regression = logistic_regression(X[train], Y[train], X[test])
    name = type(classifier).__name__
    labels, p = fitted.predict_with_proba(X[test])
    answers = {name: Answer(labels == 1, p)}
    answers[MOST_COMMON] = most_common_answer(Y[train], len(test))
    if regression is not None:
        answers[REGRESSION] = regression
    return Assessment(name, answers, Y[test], len(train))


def divided(data: Dataset, fraction: float) -> tuple[Rows, Rows]:
    """The rows to learn from and those to predict; groups stay together."""
    groups = None
    if data.groups is not None:
        groups = np.unique(data.groups, return_inverse=True)[1]
    n_blocks = max(2, round(1 / fraction))
    block = stratified_blocks(to_dense(data.Y), n_blocks, groups=groups)
    return np.flatnonzero(block != 0), np.flatnonzero(block == 0)
