"""Table 1: multi-label classification by the paper's protocol.

Ten folds of 80 % training, 10 % validation and 10 % test rows. On each fold every
model's settings are chosen on the validation rows from the paper's grids, and the
training of the chosen one ends where their loss is lowest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from crbm import datasets, metrics
from crbm.estimators import (
    CRBMClassifier,
    CRFClassifier,
    HashCRBMClassifier,
    LogisticClassifier,
)
from paper.engine import runs
from paper.engine.committee import by_committee
from paper.engine.store import Cell, Outcome, Row, Store, key
from paper.engine.tuning import (
    Grid,
    Part,
    Parts,
    Schedule,
    Tuned,
    Values,
    by_halving,
    by_trying,
    choose_readout,
    grid,
    refit,
)

EXPERIMENT = "table1"
# MajMin and MTurk where their files are; the last two stand in under their own names.
DATASETS = ("yeast", "scene", "mturk", "majmin", "majorminer", "cal500")
QUICK_DATASETS = ("yeast", "scene")
# Standard deviations at which inputs are cut off: majorminer has them a thousand away.
CUT = {"majorminer": 5.0}
N_FOLDS = 10
WRONG_SETS = "wrong sets"
BY_LOG_LOSS, BY_ERROR = Schedule(stop_by="log_loss"), Schedule(stop_by="error")
QUICK = Schedule(rungs=(1, 2, 10), keep=0.25, patience=3)
QUICK_FOLDS = 3
QUICK_MEMBERS = 4

RATES = [2.0**-power for power in (4, 6, 8, 10)]
HIDDEN = [32, 64, 128, 256]
# the paper names the size of a batch for Table 2 only
_BATCH: Mapping[str, Any] = {"batch_size": 128}
CHAINS = [{"n_steps": n} for n in (1, 10, 20)]
MEAN_FIELDS = [{"n_steps": n} for n in (10, 5, 20)]
BELIEFS = [{"n_steps": n, "damping": d} for d in (0.3, 0.0, 0.6) for n in (10, 5, 20)]
STRENGTHS = [0.01, 0.1, 1.0, 10.0]
_VECTORS: Values = {"C": [1.0, 2.0, 4.0, 8.0], "gamma": [0.5, 1.0, 2.0]}
_CD: Values = {"learning_rate": RATES, "n_hidden": HIDDEN, "objective_params": CHAINS}


@dataclass(frozen=True)
class Model:
    """A row of the table: a classifier, and the settings to choose from.

    Parameters
    ----------
    new
        Makes the classifier.
    grid
        Values of the parameters that training depends on; several grids where some
        go together.
    fixed
        Parameters that are not chosen.
    readout
        Values of those that only prediction depends on: training uses the first, and
        the best is chosen when it has ended.
    in_epochs
        Whether training can be cut short and continued.
    refit
        Whether the chosen settings are fitted again, to the validation rows too.
    n_members
        Of a committee, see `by_committee`; 0 for a single classifier.
    schedule
        How long settings are trained in epochs, and what they are compared by: a few
        hundred validation rows tell more by log loss. Others are compared by error.
    """

    new: Callable[..., Any]
    grid: Grid
    fixed: Mapping[str, Any] = field(default_factory=dict)
    readout: Values = field(default_factory=dict)
    in_epochs: bool = True
    refit: bool = False
    n_members: int = 0
    schedule: Schedule = BY_LOG_LOSS


def _linear(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=2000)


def one_vs_rest(C: float) -> OneVsRestClassifier:
    """A logistic regression for each label."""
    return OneVsRestClassifier(_linear(C))


def chain(C: float) -> ClassifierChain:
    """Logistic regressions that see the labels before their own."""
    return ClassifierChain(_linear(C), random_state=0)


class SupportVectors(BaseEstimator):  # type: ignore[misc]
    """An RBF-SVM for each label, all on one table of the kernel.

    Parameters
    ----------
    C
        What a case on the wrong side costs.
    gamma
        Of the kernel, in units of one over the number of inputs.
    """

    def __init__(self, C: float = 1.0, gamma: float = 1.0) -> None:
        self.C, self.gamma = C, gamma

    def fit(self, X: np.ndarray, Y: np.ndarray) -> SupportVectors:
        """Learn all labels; one that never varies is predicted as it is."""
        self.X_ = X.astype(np.float64)
        kernel = self._kernel(X)
        self.labels_ = [
            SVC(C=self.C, kernel="precomputed", cache_size=500).fit(kernel, y)
            if np.ptp(y)
            else DummyClassifier().fit(kernel, y)
            for y in Y.T
        ]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The labels of each case."""
        kernel = self._kernel(X)
        return np.stack([label.predict(kernel) for label in self.labels_], axis=1)

    def _kernel(self, X: np.ndarray) -> np.ndarray:
        return rbf_kernel(X.astype(np.float64), self.X_, self.gamma / X.shape[1])


PAPER = {
    "LogReg": Model(LogisticClassifier, {"learning_rate": RATES}, _BATCH),
    "CRF": Model(
        CRFClassifier, {"learning_rate": RATES, "damping": [0.0, 0.3, 0.6]}, _BATCH
    ),
    "CRBM + MF": Model(
        CRBMClassifier,
        _CD,
        {"objective": "cd", "inference": "mean_field", **_BATCH},
        {"inference_params": MEAN_FIELDS},
    ),
    "CRBM + LBP": Model(
        CRBMClassifier,
        _CD,
        {"objective": "cd", "inference": "loopy_bp", **_BATCH},
        {"inference_params": BELIEFS},
    ),
    "HashCRBM": Model(
        HashCRBMClassifier,
        {"learning_rate": RATES, "n_hidden": HIDDEN, "n_bits": [5, 7, 9]},
        _BATCH,
    ),
}
PEERS = {
    "LogisticRegression": Model(one_vs_rest, {"C": STRENGTHS}, in_epochs=False),
    "ClassifierChain": Model(chain, {"C": STRENGTHS}, in_epochs=False),
    "RandomForest": Model(
        RandomForestClassifier,
        {"max_features": ["sqrt", 0.25], "min_samples_leaf": [1, 3]},
        {"n_estimators": 300, "random_state": 0},
        in_epochs=False,
    ),
    "KNeighbors": Model(
        KNeighborsClassifier,
        {"n_neighbors": [5, 10, 20, 40], "weights": ["uniform", "distance"]},
        in_epochs=False,
    ),
    "RBF-SVM, refitted": Model(SupportVectors, _VECTORS, in_epochs=False, refit=True),
    "RBF-SVM": Model(SupportVectors, _VECTORS, in_epochs=False),
}
# Ours: kernel inputs where they help, all label sets as candidates, early specialised
# hidden units, and ten members that leave out another tenth of the rows each. The
# width is that of the kernel.
WIDE: Values = {
    "preprocessing": ["kernel", "standardise"],
    "learning_rate": [2**-6, 2**-4],
}
NARROW: Values = {
    "preprocessing": ["kernel"],
    "kernel_gamma": [2.0],
    "learning_rate": [2**-6],
}
MEMBER = {"kernel_features": 2500, "init_scale": 0.3, "radius": None}
OURS = {
    "HashCRBM, committee (ours)": Model(
        HashCRBMClassifier,
        [WIDE, NARROW],
        {**MEMBER, "n_hidden": 256},
        n_members=10,
        schedule=BY_ERROR,  # members that are too sure of themselves average out
    ),
}
MODELS = {**PAPER, **PEERS, **OURS}


def complete(
    store: Store,
    *,
    names: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    quick: bool = False,
    say: runs.Say = print,
    n_jobs: int = 1,
) -> list[Row]:
    """All rows of the table, run where they are missing.

    A data set whose files are not on this machine is left out, and said to be.
    """
    names = present(names or (QUICK_DATASETS if quick else DATASETS), say)
    wanted = cells(names, models or list(MODELS), quick)
    return runs.complete(wanted, classify, store, n_jobs=n_jobs, say=say)


def present(names: Iterable[str], say: runs.Say) -> list[str]:
    """The data sets whose files are on this machine; it says which are not."""
    here = {data.name for data in datasets.available() if data.place}
    names = list(names)
    for name in sorted(set(names) - here):
        say(f"{name}: left out, as its files were not found; see `crbm data list`.")
    return [name for name in names if name in here]


def cells(names: Sequence[str], models: Sequence[str], quick: bool) -> list[Cell]:
    """One run for each data set, fold and model, one fold after another."""
    return [
        cell(name, fold, model, MODELS[model], quick)
        for name in names
        for fold in range(QUICK_FOLDS if quick else N_FOLDS)
        for model in models
    ]


def cell(name: str, fold: int, title: str, model: Model, quick: bool = False) -> Cell:
    """The run of a model, under its title, on one fold of a data set."""
    return Cell(EXPERIMENT, name, title, fold, 0, _plain(name, model, quick))


def current_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows of runs as they are declared here; those of the past are left out."""
    wanted = {
        cell.key
        for quick in (False, True)
        for cell in cells(DATASETS, list(MODELS), quick)
    }
    return [row for row in rows if key(row) in wanted]


def _plain(name: str, model: Model, quick: bool) -> dict[str, Any]:
    """Everything that decides the outcome."""
    config: dict[str, Any] = {
        "grid": thin(model.grid, quick),
        "fixed": dict(model.fixed),
        "readout": dict(model.readout),
        "quick": quick,
    }
    if model.in_epochs:
        config["schedule"] = asdict(_schedule(model, quick))
        if model.schedule.stop_by == "error":  # of which rows did not tell at first
            del config["schedule"]["stop_by"]
    if model.n_members:
        config["members"] = members(model, quick)
    if model.refit:
        config["refit"] = True
    if name in CUT:
        config["cut"] = CUT[name]
    return config


def _schedule(model: Model, quick: bool) -> Schedule:
    if quick:
        return replace(QUICK, stop_by=model.schedule.stop_by)
    return model.schedule


def thin(values: Grid, quick: bool) -> Grid:
    """The values to choose from; every other one in the quick version."""

    def every_other(each: Values) -> Values:
        return {name: all_of[:: 2 if quick else 1] for name, all_of in each.items()}

    if isinstance(values, Mapping):
        return every_other(values)
    return [every_other(each) for each in values]


def members(model: Model, quick: bool) -> int:
    """The size of a committee; smaller in the quick version."""
    return min(model.n_members, QUICK_MEMBERS) if quick else model.n_members


def classify(cell: Cell, *, model: Model | None = None) -> Outcome:
    """The test error of one model on one fold, its settings chosen on validation.

    The model is the one that has the cell's title, unless another is given.
    """
    parts, model = fold(cell.dataset, cell.fold or 0), model or MODELS[cell.model]
    quick = cell.config["quick"]
    model = replace(
        model, grid=thin(model.grid, quick), n_members=members(model, quick)
    )
    found = choose(model, parts, _schedule(model, quick), cell.seed)
    predicted = found.classifier.predict(parts.test.X)
    return Outcome(
        {
            "hamming": 100 * metrics.hamming_error(parts.test.Y, predicted),
            "subset": 100 * metrics.subset_accuracy(parts.test.Y, predicted),
            "validation": 100 * found.error,
        },
        {"chosen": found.settings},
    )


def with_wrong_sets(rows: Iterable[Row]) -> list[Row]:
    """The rows with an error of whole label sets beside that of single labels."""
    return [
        {
            **row,
            "metrics": {WRONG_SETS: 100 - row["metrics"]["subset"], **row["metrics"]},
        }
        for row in rows
    ]


def choose(model: Model, parts: Parts, schedule: Schedule, seed: int) -> Tuned:
    """The classifier with the settings that do best on the validation rows."""
    settings = grid(model.grid)
    first = {name: values[0] for name, values in model.readout.items()}
    new = partial(model.new, **model.fixed, **first)
    if model.n_members:
        return by_committee(new, settings, parts, schedule, model.n_members, seed)
    if not model.in_epochs:
        found = by_trying(new, settings, parts)
        return refit(found, new, parts) if model.refit else found
    found = by_halving(new, settings, parts, schedule, seed)
    return choose_readout(found, grid(model.readout), parts, schedule.stop_by)


def fold(name: str, place: int) -> Parts:
    """One fold of a data set, standardised by its training rows."""
    data = datasets.load(name)
    rows = datasets.folds(data, N_FOLDS, seed=0)[place]
    X, Y = np.asarray(data.X, dtype=np.float32), np.asarray(data.Y)
    scaler, limit = StandardScaler().fit(X[rows.train]), CUT.get(name, np.inf)
    X = scaler.transform(X).clip(-limit, limit).astype(np.float32)
    train, valid, test = (Part(X[part], Y[part]) for part in rows)
    groups = None if data.groups is None else data.groups[np.concatenate(rows[:2])]
    return Parts(train, valid, test, groups)
