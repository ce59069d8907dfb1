"""Classifiers as they come: our defaults and scikit-learn's, on inputs as they are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from crbm import metrics
from crbm.estimators import CRBMClassifier, HashCRBMClassifier
from crbm.estimators.stacking import Base
from paper.engine import runs
from paper.engine.judging import LEAST
from paper.engine.store import Cell, Outcome, Row, Store
from paper.tables import suite, untuned_problems

EXPERIMENT = "untuned"
OURS: dict[str, Any] = {
    "HashCRBM": HashCRBMClassifier(random_state=0),
    "CRBM": CRBMClassifier(random_state=0),
}
# The SVM has no probabilities, so no log loss.
SVM = "SVM per label"
PEERS: dict[str, Any] = {
    "logistic regression": LogisticRegression(max_iter=1000),
    SVM: SVC(),
    "random forest": RandomForestClassifier(random_state=0),
    "extra trees": ExtraTreesClassifier(random_state=0),
    "nearest neighbours": KNeighborsClassifier(),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}
# Boosting takes one model of a hundred trees per label.
MOST_LABELS = {"boosting": 50}
N_SEEDS = 2


def complete(
    store: Store, names: Sequence[str] | None = None, **run_options: Any
) -> list[Row]:
    """Run the cells that are missing; returns all rows."""
    return runs.complete(cells(names), run_cell, store, **run_options)


def cells(names: Sequence[str] | None = None) -> list[Cell]:
    """Each model on a split of each data set; the first seed first."""
    return [
        Cell(EXPERIMENT, name, model, None, seed, {"estimator": repr(estimator)})
        for seed in range(N_SEEDS)
        for name in runs.chosen(names, untuned_problems.DATASETS)
        for model, estimator in (OURS | PEERS).items()
        if suite.N_LABELS.get(name, 0) <= MOST_LABELS.get(model, 10**9)
    ]


def run_cell(cell: Cell) -> Outcome:
    """Fit a classifier to inputs as they are and measure it."""
    split = untuned_problems.split(cell.dataset, cell.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notes on convergence
        if cell.model in OURS:
            found = _ours(clone(OURS[cell.model]), split)
        else:
            found = _peer(cell.model, split)
    return Outcome(found, {"n_train": split.X_train.shape[0]})


def _ours(classifier: Any, split: untuned_problems.Split) -> dict[str, float]:
    classifier.fit(split.X_train, split.Y_train)
    p = classifier.predict_proba(split.X_test)
    return _measures(split.Y_test, classifier.predict(split.X_test), p)


def _peer(model: str, split: untuned_problems.Split) -> dict[str, float]:
    X_train: Any = split.X_train
    X_test: Any = split.X_test
    Y = split.Y_train
    if model == "boosting" and issparse(X_train):
        X_train, X_test = X_train.toarray(), X_test.toarray()
    if model == SVM:
        machines = [clone(PEERS[SVM]).fit(X_train, y) for y in Y.T]
        predicted = np.stack([machine.predict(X_test) for machine in machines], 1)
        return _measures(split.Y_test, predicted, None)
    odds = Base(PEERS[model]).fit(X_train, Y.astype(float)).log_odds(X_test)
    return _measures(split.Y_test, odds > 0, 1 / (1 + np.exp(-odds)))


def _measures(
    truth: np.ndarray, predicted: np.ndarray, p: np.ndarray | None
) -> dict[str, float]:
    found = {
        "hamming": 100 * metrics.hamming_error(truth, predicted),
        "subset": 100 * metrics.subset_accuracy(truth, predicted),
    }
    if p is not None:
        found["log_loss"] = metrics.label_log_loss(truth, p, least=LEAST)
    return found
