"""Table 1: multi-label classification by the paper's protocol.

Ten folds of 80 % training, 10 % validation and 10 % test cases. On each fold the
parameters of every model are chosen from the paper's grids by the error on the
validation cases, which also stops training early. The trials have the same models by
the log loss on these cases.
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
from crbm.kernels import onednn
from paper.engine import runs
from paper.engine.committee import tune_committee
from paper.engine.store import Cell, Outcome, Row, Store, key
from paper.engine.tuning import (
    Cases,
    FoldData,
    Grid,
    Schedule,
    TunedClassifier,
    Values,
    choose_readout,
    expand,
    refit,
    tune_by_grid,
    tune_by_halving,
)

EXPERIMENT = "table1"
# MajMin and MTurk are run where their files are available. majorminer and cal500 are
# not in the paper; they are similar music data that can always be run.
DATASETS = ("yeast", "scene", "mturk", "majmin", "majorminer", "cal500")
QUICK_DATASETS = ("yeast", "scene")
# Standardised inputs are clipped here: majorminer has values of more than a thousand.
CLIP = {"majorminer": 5.0}
N_FOLDS = 10
WRONG_SETS = "wrong sets"
BY_LOG_LOSS, BY_ERROR = Schedule(stop_by="log_loss"), Schedule(stop_by="error")
QUICK = Schedule(rungs=(1, 2, 10), keep=0.25, patience=3)
QUICK_FOLDS = 3
QUICK_MEMBERS = 4

RATES = [2.0**-power for power in (4, 6, 8, 10)]
HIDDEN = [32, 64, 128, 256]
# The paper gives a batch size for Table 2 only.
_BATCH: Mapping[str, Any] = {"batch_size": 128}
CHAINS = [{"n_steps": n} for n in (1, 10, 20)]
MEAN_FIELDS = [{"n_steps": n} for n in (10, 5, 20)]
BELIEFS = [{"n_steps": n, "damping": d} for d in (0.3, 0.0, 0.6) for n in (10, 5, 20)]
STRENGTHS = [0.01, 0.1, 1.0, 10.0]
_VECTORS: Values = {"C": [1.0, 2.0, 4.0, 8.0], "gamma": [0.5, 1.0, 2.0]}
_CD: Values = {"learning_rate": RATES, "n_hidden": HIDDEN, "objective_params": CHAINS}


@dataclass(frozen=True)
class Model:
    """A row of the table: a classifier and the grid of its parameters.

    Parameters
    ----------
    make
        Returns a classifier with the given parameters.
    grid
        Values of the parameters of training; several grids if only some combinations
        are wanted.
    fixed
        Parameters that are not tuned.
    readout
        Values of the parameters of prediction. Training uses the first values; the
        best are chosen afterwards.
    in_epochs
        Whether training runs in epochs, so that it can be stopped and resumed.
    refit
        Whether to fit the best parameters again to training and validation cases.
    n_members
        Size of a committee, see `tune_committee`; 0 for a single classifier.
    schedule
        For training in epochs: how long, and the loss that compares parameters. The
        error compares all other classifiers.
    """

    make: Callable[..., Any]
    grid: Grid
    fixed: Mapping[str, Any] = field(default_factory=dict)
    readout: Values = field(default_factory=dict)
    in_epochs: bool = True
    refit: bool = False
    n_members: int = 0
    schedule: Schedule = BY_ERROR


def _linear(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=2000)


def one_vs_rest(C: float) -> OneVsRestClassifier:
    """One logistic regression per label."""
    return OneVsRestClassifier(_linear(C))


def chain(C: float) -> ClassifierChain:
    """Logistic regressions that have the previous labels as inputs."""
    return ClassifierChain(_linear(C), random_state=0)


class SupportVectors(BaseEstimator):  # type: ignore[misc]
    """One SVM with an RBF kernel per label; the kernel is computed only once.

    Parameters
    ----------
    C
        Penalty of margin violations, as in `SVC`.
    gamma
        Coefficient of the kernel, times the number of inputs.
    """

    def __init__(self, C: float = 1.0, gamma: float = 1.0) -> None:
        self.C, self.gamma = C, gamma

    def fit(self, X: np.ndarray, Y: np.ndarray) -> SupportVectors:
        """Fit all labels; a constant label is predicted as this constant."""
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


# The inputs are scaled before, and candidates count alike, as in the paper.
_logistic = partial(LogisticClassifier, preprocessing="none", l2=0.0)
_crf = partial(CRFClassifier, preprocessing="none", l2=0.0)
_crbm = partial(CRBMClassifier, preprocessing="none", init_scale=0.01, l2=0.0)
_hash_crbm = partial(
    HashCRBMClassifier,
    preprocessing="none",
    base_measure="uniform",
    radius=1,
    init_scale=0.01,
    l2=0.0,
)
PAPER = {
    "LogReg": Model(_logistic, {"learning_rate": RATES}, _BATCH),
    "CRF": Model(_crf, {"learning_rate": RATES, "damping": [0.0, 0.3, 0.6]}, _BATCH),
    "CRBM + MF": Model(
        _crbm,
        _CD,
        {"objective": "cd", "inference": "mean_field", **_BATCH},
        {"inference_params": MEAN_FIELDS},
    ),
    "CRBM + LBP": Model(
        _crbm,
        _CD,
        {"objective": "cd", "inference": "loopy_bp", **_BATCH},
        {"inference_params": BELIEFS},
    ),
    "HashCRBM": Model(
        _hash_crbm,
        {"learning_rate": RATES, "n_hidden": HIDDEN, "n_bits": [5, 7, 9]},
        _BATCH,
    ),
}
BASELINES = {
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
# Ours: kernel features where they help, all label sets as candidates, larger initial
# weights, and ten members that hold out a different tenth of the cases each.
WIDE_KERNEL: Values = {
    "preprocessing": ["kernel", "standardise"],
    "learning_rate": [2**-6, 2**-4],
}
NARROW_KERNEL: Values = {
    "preprocessing": ["kernel"],
    "kernel_gamma": [2.0],
    "learning_rate": [2**-6],
}
MEMBER_DEFAULTS = {"kernel_features": 2500, "init_scale": 0.3, "radius": None}
OURS = {
    "HashCRBM, committee (ours)": Model(
        _hash_crbm,
        [WIDE_KERNEL, NARROW_KERNEL],
        {**MEMBER_DEFAULTS, "n_hidden": 256},
        n_members=10,
    ),
}
MODELS = {**PAPER, **BASELINES, **OURS}


def complete(
    store: Store,
    *,
    names: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    quick: bool = False,
    echo: runs.Echo = print,
    n_jobs: int = 1,
) -> list[Row]:
    """Run the cells of the table that are missing; returns all rows.

    Data sets whose files are missing are skipped with a message.
    """
    names = available_datasets(names or (QUICK_DATASETS if quick else DATASETS), echo)
    wanted = cells(names, models or list(MODELS), quick)
    return runs.complete(wanted, run_cell, store, n_jobs=n_jobs, echo=echo)


def available_datasets(names: Iterable[str], echo: runs.Echo) -> list[str]:
    """Those of the data sets whose files are on this machine; reports the others."""
    available = {data.name for data in datasets.available() if data.place}
    names = list(names)
    for name in sorted(set(names) - available):
        echo(f"{name}: skipped, its files are missing; see `crbm data list`.")
    return [name for name in names if name in available]


def cells(names: Sequence[str], models: Sequence[str], quick: bool) -> list[Cell]:
    """One run for each data set, fold and model, fold by fold."""
    return [
        cell(name, fold, model, MODELS[model], quick)
        for name in names
        for fold in range(QUICK_FOLDS if quick else N_FOLDS)
        for model in models
    ]


def cell(name: str, fold: int, title: str, model: Model, quick: bool = False) -> Cell:
    """The run of a model with this title on one fold of a data set."""
    return Cell(EXPERIMENT, name, title, fold, 0, _config(name, model, quick))


def current_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows of the runs that are declared here, without outdated ones."""
    rows = list(rows)
    if not rows:
        return []
    wanted = {
        cell.key
        for quick in (False, True)
        for cell in cells(DATASETS, list(MODELS), quick)
    }
    return [row for row in rows if key(row) in wanted]


def _config(name: str, model: Model, quick: bool) -> dict[str, Any]:
    """Everything that the outcome depends on, as JSON."""
    config: dict[str, Any] = {
        "grid": thin_grid(model.grid, quick),
        "fixed": dict(model.fixed),
        "readout": dict(model.readout),
        "quick": quick,
    }
    if model.in_epochs:
        config["schedule"] = asdict(_schedule(model, quick))
        if model.schedule.stop_by == "error":  # absent, so that older rows still match
            del config["schedule"]["stop_by"]
    if model.n_members:
        config["members"] = committee_size(model, quick)
    if model.refit:
        config["refit"] = True
    if name in CLIP:
        config["cut"] = CLIP[name]
    return config


def _schedule(model: Model, quick: bool) -> Schedule:
    if quick:
        return replace(QUICK, stop_by=model.schedule.stop_by)
    return model.schedule


def thin_grid(grid: Grid, quick: bool) -> Grid:
    """The grid; with every other value only in the quick version."""

    def thin(values: Values) -> Values:
        return {name: all_of[:: 2 if quick else 1] for name, all_of in values.items()}

    if isinstance(grid, Mapping):
        return thin(grid)
    return [thin(values) for values in grid]


def committee_size(model: Model, quick: bool) -> int:
    """Number of members of a committee; smaller in the quick version."""
    return min(model.n_members, QUICK_MEMBERS) if quick else model.n_members


@onednn.disabled()  # so that published rows repeat
def run_cell(cell: Cell, *, model: Model | None = None) -> Outcome:
    """Tune one model on one fold and measure its test error.

    The model is that with the cell's title, unless `model` is given.
    """
    data, model = load_fold(cell.dataset, cell.fold or 0), model or MODELS[cell.model]
    quick = cell.config["quick"]
    model = replace(
        model,
        grid=thin_grid(model.grid, quick),
        n_members=committee_size(model, quick),
    )
    tuned = tune(model, data, _schedule(model, quick), cell.seed)
    predicted = tuned.classifier.predict(data.test.X)
    return Outcome(
        {
            "hamming": 100 * metrics.hamming_error(data.test.Y, predicted),
            "subset": 100 * metrics.subset_accuracy(data.test.Y, predicted),
            "validation": 100 * tuned.error,
        },
        {"chosen": tuned.params},
    )


def with_wrong_sets(rows: Iterable[Row]) -> list[Row]:
    """The rows with the additional metric `WRONG_SETS`, the error of label sets."""
    return [
        {
            **row,
            "metrics": {WRONG_SETS: 100 - row["metrics"]["subset"], **row["metrics"]},
        }
        for row in rows
    ]


def tune(
    model: Model, data: FoldData, schedule: Schedule, seed: int
) -> TunedClassifier:
    """The classifier with the lowest loss on the validation cases."""
    grid = expand(model.grid)
    first = {name: values[0] for name, values in model.readout.items()}
    make = partial(model.make, **model.fixed, **first)
    if model.n_members:
        return tune_committee(make, grid, data, schedule, model.n_members, seed)
    if not model.in_epochs:
        tuned = tune_by_grid(make, grid, data)
        return refit(tuned, make, data) if model.refit else tuned
    tuned = tune_by_halving(make, grid, data, schedule, seed)
    return choose_readout(tuned, expand(model.readout), data, schedule.stop_by)


def load_fold(name: str, number: int) -> FoldData:
    """One fold of a data set, standardised by its training cases."""
    data = datasets.load(name)
    rows = datasets.folds(data, N_FOLDS, seed=0)[number]
    X, Y = np.asarray(data.X, dtype=np.float32), np.asarray(data.Y)
    scaler, limit = StandardScaler().fit(X[rows.train]), CLIP.get(name, np.inf)
    X = scaler.transform(X).clip(-limit, limit).astype(np.float32)
    train, valid, test = (Cases(X[part], Y[part]) for part in rows)
    groups = None if data.groups is None else data.groups[np.concatenate(rows[:2])]
    return FoldData(train, valid, test, groups)
