"""bibtex with a fifth of the label entries observed, after LEML.

The official split of 4,880 training and 2,515 test cases. Of the training labels each
entry is observed with probability 0.2, whether the label is there or not; test labels
are complete. A tenth of the training cases choose the parameters and stop training, by
the log loss of their observed entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from crbm import datasets, metrics, objectives
from crbm.datasets.locate import locate
from crbm.estimators import CRBMClassifier, LogisticClassifier
from paper.engine import runs
from paper.engine.store import Cell, Outcome, Row, Store
from paper.engine.tuning import Cases, FoldData

EXPERIMENT, DATASET = "rules", "bibtex"
NAMES = (DATASET,)
OBSERVED, N_LABELS = 0.2, 159
SEEDS = (0, 1, 2)
# H.-F. Yu, P. Jain, P. Kar and I. S. Dhillon, "Large-scale multi-label learning with
# missing labels", ICML 2014: bibtex, 20 % of the entries observed.
PUBLISHED = {
    "LEML": {"precision_at_3": 28.50, "hamming": 1.36, "auc": 83.32},
    "binary relevance": {"precision_at_3": 25.78, "hamming": 1.93, "auc": 80.87},
}
FIXED: dict[str, Any] = {
    "n_epochs": 30,
    "batch_size": 64,
    "patience": 4,
    "early_stopping": True,
    "stop_by": "log_loss",
    "random_state": 0,
}
GRID = {"learning_rate": [2**-2, 2**-4], "l2": [2**-8, 2**-11]}
CRBM: dict[str, Any] = {"n_hidden": 32, "init_scale": 0.1}
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "LogReg": (LogisticClassifier, {}),
    "CRBM, mean-field likelihood": (
        CRBMClassifier,
        {**CRBM, "objective": objectives.MeanFieldLikelihood()},
    ),
    "CRBM, CD-PercLoss": (
        CRBMClassifier,
        {**CRBM, "objective": objectives.Perceptron(10)},
    ),
}


def cells() -> list[Cell]:
    """One run for each model and mask."""
    return [
        Cell(
            EXPERIMENT,
            DATASET,
            title,
            None,
            seed,
            {**FIXED, "grid": GRID, "observed": OBSERVED}
            | {name: _plain(value) for name, value in fixed.items()},
        )
        for seed in SEEDS
        for title, (_, fixed) in MODELS.items()
    ]


def complete(
    store: Store, names: Sequence[str] | None = None, **run_options: Any
) -> list[Row]:
    """Run the cells that are missing; returns all rows."""
    runs.chosen(names, NAMES)
    return runs.complete(cells(), run_cell, store, **run_options)


def run_cell(cell: Cell) -> Outcome:
    """Choose the parameters on validation cases and test them on complete labels."""
    make, fixed = MODELS[cell.model]
    data, tried = load(cell.seed), []
    for values in product(*GRID.values()):
        parameters = dict(zip(GRID, values, strict=True))
        classifier = make(preprocessing="none", **FIXED, **fixed, **parameters)
        classifier.fit(*data.train, validation=data.valid)
        loss = observed_log_loss(data.valid.Y, classifier.predict_proba(data.valid.X))
        tried.append((loss, parameters, classifier))
    loss, parameters, classifier = min(tried, key=lambda each: each[0])
    return Outcome(
        measure(data.test.Y, classifier.predict_proba(data.test.X)),
        {"chosen": parameters, "validation_losses": [each[0] for each in tried]},
    )


@cache
def load(seed: int) -> FoldData:
    """The official split, with most training labels hidden."""
    folder = locate(datasets.describe(DATASET))[0].parent
    train, test = (
        datasets.read(folder / f"bibtex-{part}.arff", labels=-N_LABELS)
        for part in ("train", "test")
    )
    rng = np.random.default_rng(seed)
    Y = np.asarray(_dense(train.Y), dtype=np.float32)
    Y = np.where(rng.random(Y.shape) < OBSERVED, Y, np.nan)
    X = np.asarray(_dense(train.X), dtype=np.float32)
    order = rng.permutation(len(X))
    held_out, rest = order[: len(X) // 10], order[len(X) // 10 :]
    return FoldData(
        Cases(X[rest], Y[rest]),
        Cases(X[held_out], Y[held_out]),
        Cases(np.asarray(_dense(test.X), dtype=np.float32), np.asarray(_dense(test.Y))),
    )


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def observed_log_loss(Y: np.ndarray, p: np.ndarray) -> float:
    """The mean of -log p of the observed entries, p no lower than 0.001.

    Examples
    --------
    >>> round(observed_log_loss(np.array([[1, np.nan]]), np.array([[0.5, 0.1]])), 3)
    0.693
    """
    chance = np.where(Y > 0.5, p, 1 - p).clip(1e-3)
    return float(np.nanmean(np.where(np.isnan(Y), np.nan, -np.log(chance))))


def measure(Y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """LEML's measures in percent; the AUC by case and by label."""
    by_case = [roc_auc_score(y, q) for y, q in zip(Y, p, strict=True) if y.sum() > 0]
    by_label = [roc_auc_score(y, q) for y, q in zip(Y.T, p.T, strict=True) if y.any()]
    return {
        "precision_at_3": 100 * metrics.precision_at_k(Y, p, k=3),
        "hamming": 100 * metrics.hamming_error(Y, p > 0.5),
        "auc_by_case": 100 * float(np.mean(by_case)),
        "auc_by_label": 100 * float(np.mean(by_label)),
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else repr(value)
