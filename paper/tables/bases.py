"""A classifier of scikit-learn alone, and as the `base` of a HashCRBM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from crbm import metrics
from crbm.estimators import HashCRBMClassifier
from crbm.estimators.stacking import Base
from paper.engine import runs
from paper.engine.judging import LEAST, independent_nll
from paper.engine.store import Cell, Outcome, Row, Store
from paper.tables import suite
from paper.tables.problems import Problem

EXPERIMENT = "bases"
# Settings that are usual, not tuned: the question is what the structure adds.
BASES: dict[str, Any] = {
    "logistic regression": make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1000)
    ),
    "random forest": RandomForestClassifier(100, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=100, random_state=0),
}
ALONE, WITH = "alone", "with HashCRBM"
# Boosting takes one model per label, and six fits of each.
MOST_LABELS = {"boosting": 50}
SPLITS = {name: 1 for name in suite.SPLITS if name != "delicious"}


def complete(
    store: Store, names: Sequence[str] | None = None, **run_options: Any
) -> list[Row]:
    """Run the cells that are missing; returns all rows."""
    return runs.complete(cells(names), run_cell, store, **run_options)


def cells(names: Sequence[str] | None = None) -> list[Cell]:
    """Each base alone and in a HashCRBM, on the first fold of each data set."""
    return [
        cell(name, base, how)
        for name in runs.chosen(names, tuple(SPLITS))
        for base in BASES
        if suite.N_LABELS.get(name, 0) <= MOST_LABELS.get(base, 10**9)
        for how in (ALONE, WITH)
    ]


def cell(name: str, base: str, how: str) -> Cell:
    """A base alone or in a HashCRBM, on the first fold of a data set."""
    config: dict[str, Any] = {"base": repr(BASES[base]), "how": how}
    if name in suite.LIMITS:
        config["limit"] = dict(suite.LIMITS[name])
    return Cell(EXPERIMENT, name, f"{base}, {how}", 0, 0, config)


def run_cell(cell: Cell) -> Outcome:
    """Fit a base, alone or in a HashCRBM, and measure it on the test cases."""
    problem = suite.load(cell.dataset, cell.fold or 0, cell.config.get("limit"))
    name = cell.model.rpartition(", ")[0]
    measure = _alone if cell.config["how"] == ALONE else _with_structure
    return Outcome(measure(clone(BASES[name]), problem), {})


def _alone(base: Any, problem: Problem) -> dict[str, float]:
    """Independent labels: the likeliest set has all labels above one half."""
    truth = problem.Y_test.astype(float)
    fitted = Base(base).fit(problem.X_train, problem.Y_train.astype(float))
    p = 1 / (1 + np.exp(-fitted.log_odds(problem.X_test)))
    return _measures(truth, p, p > 0.5, independent_nll(truth, p))


def _with_structure(base: Any, problem: Problem) -> dict[str, float]:
    """The joint distribution: labels by its marginals, sets by its mode."""
    truth = problem.Y_test.astype(float)
    classifier = HashCRBMClassifier(base=base, random_state=0)
    classifier.fit(problem.X_train, problem.Y_train)
    p = classifier.predict_proba(problem.X_test)
    mode = classifier.predict_top_k(problem.X_test, k=1).labels[:, 0]
    log_p = classifier.score_samples(problem.X_test, problem.Y_test)
    return _measures(truth, p, mode, -float(log_p.mean()))


def _measures(
    truth: np.ndarray, p: np.ndarray, sets: np.ndarray, nll: float
) -> dict[str, float]:
    found = {
        "hamming": 100 * metrics.hamming_error(truth, p > 0.5),
        "subset": 100 * metrics.subset_accuracy(truth, sets),
        "log_loss": metrics.label_log_loss(truth, p, least=LEAST),
    }
    # infinite where a label set of the test cases is not among the candidates
    return {**found, "nll": nll} if np.isfinite(nll) else found
