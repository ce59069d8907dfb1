"""The suite: our classifier and its opponents on nine multi-label data sets.

Every model learns from the same training cases, chooses its parameters and its decision
rules on these alone, and is judged by every measure on the same test cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from crbm.kernels import onednn
from paper.engine import runs
from paper.engine.judging import Forecast, measure
from paper.engine.store import Cell, Outcome, Row, Store, key
from paper.peers.registry import PEERS
from paper.tables import ours, problems
from paper.tables.problems import Problem
from paper.tables.table1 import available_datasets

EXPERIMENT = "suite"
# Number of folds of each data set.
SPLITS = {
    "yeast": 3,
    "scene": 3,
    "cal500": 3,
    problems.SYNTHETIC: 3,
    "majorminer": 2,
    "tmc2007-500": 2,
    "bibtex": 2,
    "corel5k": 2,
    "delicious": 1,
}
# The data sets of few labels, on which all models are run.
FEW_LABELS = ("yeast", "scene", problems.SYNTHETIC, "tmc2007-500", "cal500")
# So many cases are drawn from the larger sets, so that all opponents can be tuned.
LIMITS = {
    name: {"n_train": 1500, "n_test": 500}
    for name in ("tmc2007-500", "bibtex", "corel5k", "delicious")
}
# All ten folds are run for the data and the models of the headline.
TEN_FOLDS = {
    "yeast": ("SVM on label sets", "random forest", *ours.MODELS),
    "scene": ("SVM on label sets", "random forest", *ours.MODELS),
}
MODELS: tuple[str, ...] = (*ours.MODELS, *PEERS)
QUICK_SPLITS = {"yeast": 1, "scene": 1, problems.SYNTHETIC: 1}
QUICK_LIMIT = {"n_train": 300, "n_test": 200}
QUICK_MODELS = (
    *ours.MODELS,
    "logistic regression",
    "SVM on label sets",
    "random forest",
)


def complete(
    store: Store, *, quick: bool = False, echo: runs.Echo = print, n_jobs: int = 1
) -> list[Row]:
    """Run the cells that are missing and can be run here; returns all rows.

    Cells of opponents whose package is missing are skipped with a message.
    """
    wanted = cells(quick)
    names = {cell.dataset for cell in wanted} - {problems.SYNTHETIC}
    found = {problems.SYNTHETIC, *available_datasets(sorted(names), echo)}
    for name, peer in PEERS.items():
        if peer.missing and any(cell.model == name for cell in wanted):
            echo(f"{name}: skipped, {peer.missing}.")
    runnable = [
        cell
        for cell in wanted
        if cell.dataset in found
        and (store.find(cell) or cell.model not in PEERS or not missing(cell))
    ]
    return runs.complete(runnable, run_cell, store, n_jobs=n_jobs, echo=echo)


def missing(cell: Cell) -> str:
    """Why the model of a cell cannot be run here; empty if it can."""
    return PEERS[cell.model].missing


def cells(quick: bool = False) -> list[Cell]:
    """All runs, the first folds of all data sets first."""
    wanted = [
        cell(name, fold, model, quick)
        for fold in range(problems.N_FOLDS)
        for name, n_splits in splits(quick).items()
        for model in models(quick)
        if fold < n_splits or (not quick and model in TEN_FOLDS.get(name, ()))
    ]
    return [each for each in wanted if left_out(each.dataset, each.model) is None]


def splits(quick: bool) -> dict[str, int]:
    """The data sets, and the number of folds of each."""
    return QUICK_SPLITS if quick else SPLITS


def models(quick: bool) -> tuple[str, ...]:
    """The names of the models."""
    return QUICK_MODELS if quick else MODELS


def cell(name: str, fold: int, model: str, quick: bool = False) -> Cell:
    """The run of a model on one fold of a data set."""
    limit = QUICK_LIMIT if quick else LIMITS.get(name)
    config: dict[str, Any] = {"model": known(model).summary(), "quick": quick}
    if limit is not None:
        config["limit"] = dict(limit)
    return Cell(EXPERIMENT, name, model, fold, 0, config)


N_LABELS = {"bibtex": 159, "cal500": 174, "corel5k": 374, "delicious": 983}


def left_out(name: str, model: str) -> str | None:
    """Why a model is not run on a data set; None if it is."""
    if model in PEERS and N_LABELS.get(name, 0) > PEERS[model].max_labels:
        return f"would take hours with {N_LABELS[name]} labels"
    return None


def current_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows of the runs that are declared here, without outdated ones."""
    rows = list(rows)
    if not rows:
        return []
    wanted = {each.key for quick in (False, True) for each in cells(quick)}
    return [row for row in rows if key(row) in wanted]


@onednn.disabled()  # so that published rows repeat
def run_cell(cell: Cell) -> Outcome:
    """Fit one model on one fold and measure its answers."""
    problem = load(cell.dataset, cell.fold or 0, cell.config.get("limit"))
    forecast = answer(cell.model, problem, cell.fold or 0)
    return Outcome(measure(forecast, problem.Y_test), forecast.details)


def load(name: str, fold: int, limit: dict[str, int] | None) -> Problem:
    """One fold of a data set, perhaps with a limited number of cases."""
    problem = problems.fold(name, fold)
    return problem.limited(**limit, seed=fold) if limit else problem


def answer(model: str, problem: Problem, seed: int) -> Forecast:
    """What a model of the suite says about the test cases."""
    return known(model).forecast(problem, seed)


def known(model: str) -> Any:
    """The model of this name: ours or an opponent."""
    return ours.MODELS[model] if model in ours.MODELS else PEERS[model]
