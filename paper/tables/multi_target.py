"""Several real targets: CRBMRegressor beside ridge, forests and regressor chains.

Repetitions of two-fold cross-validation on data sets of Mulan.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.multioutput import RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crbm
from crbm.datasets.assemble import N_TARGETS
from crbm.estimators.base_regression import PENALTIES
from crbm.preprocessing import TableEncoder
from paper.engine.store import Cell, Outcome

SETS = tuple(N_TARGETS)
N_REPETITIONS = 5
N_TREES = 50
GAUSSIAN: dict[str, Any] = {"n_hidden": 0, "n_epochs": 0}
DIAGONAL: dict[str, Any] = {**GAUSSIAN, "noise": "diagonal"}
# The first two have independent Gaussians around their predictions, of the variances
# of residuals in cross-validation; the last has the defaults.
MODELS: dict[str, dict[str, Any]] = {
    "ridge": {"base": "ridge", **DIAGONAL},
    "forest": {"base": "forest", **DIAGONAL},
    "chain of ridges": {"chain": "ridge"},
    "chain of forests": {"chain": "forest"},
    "CRBMRegressor without hidden units": {"base": "auto", **GAUSSIAN},
    "CRBMRegressor": {
        "base": "auto",
        "n_hidden": 4,
        "n_spreads": 3,
        "noise": "full",
        "n_epochs": 60,
        "batch_size": 128,
        "learning_rate": 0.02,
        "l2": 0.1,
        "validation_fraction": 0.2,
    },
}


@cache
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs as numbers and targets."""
    data = crbm.datasets.load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = TableEncoder().fit(data.X).transform(data.X)
    return np.nan_to_num(np.asarray(X, dtype=np.float64)), data.Y


def run_cell(cell: Cell) -> Outcome:
    """Learn one half and measure on the other; folds 2 i and 2 i + 1 share a split."""
    assert cell.fold is not None
    X, Y = load(cell.dataset)
    splits = KFold(2, shuffle=True, random_state=cell.fold // 2).split(X)
    train, test = list(splits)[cell.fold % 2]
    config = dict(cell.config)
    if "chain" in config:
        regressor = RegressorChain(_base(config["chain"], cell.seed))
    else:
        if config["base"] == "forest":
            config["base"] = _base("forest", cell.seed)
        regressor = crbm.CRBMRegressor(random_state=cell.seed, **config)
    regressor.fit(X[train], Y[train])
    predicted = regressor.predict(X[test])
    found = {"rrmse": 100 * relative_rmse(Y[test], predicted, Y[train].mean(0))}
    if "chain" not in config:
        found["nll"] = -float(regressor.score_samples(X[test], Y[test]).mean())
    return Outcome(found, {})


def _base(kind: str, seed: int) -> Any:
    if kind == "forest":
        return RandomForestRegressor(N_TREES, random_state=seed)
    return make_pipeline(StandardScaler(), RidgeCV(PENALTIES))


def relative_rmse(truth: np.ndarray, predicted: np.ndarray, mean: np.ndarray) -> float:
    """The mean over targets of the error relative to that of the training mean.

    Targets that are constant in the test half are left out.

    Examples
    --------
    >>> truth = np.array([[0.0], [2.0]])
    >>> relative_rmse(truth, truth / 2 + 0.5, truth.mean(0))
    0.5
    """
    error = np.square(truth - predicted).sum(0)
    simple = np.square(truth - mean).sum(0)
    varies = truth.std(0) > 0
    return float(np.sqrt(error[varies] / simple[varies]).mean())
