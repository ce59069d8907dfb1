"""Runs the cells of an experiment that have no row yet, several at a time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from joblib import Parallel, delayed

from paper.engine.store import Cell, Outcome, Row, Store

Say = Callable[[str], None]


def complete(
    cells: Sequence[Cell],
    run: Callable[[Cell], Outcome],
    store: Store,
    *,
    n_jobs: int = 1,
    say: Say = print,
) -> list[Row]:
    """The rows of all cells, in order; those that were missing are run now.

    Each row is written as soon as its run ends, so an interrupted call loses only
    what was under way. Work goes through joblib: `joblib.parallel_config` sends it to
    a Dask cluster.
    """
    missing = [cell for cell in cells if store.find(cell) is None]
    if missing:
        say(f"{len(cells) - len(missing)} of {len(cells)} runs were there already.")
    workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    with warnings.catch_warnings():
        # joblib renews a worker that has grown, as one does that keeps data sets
        warnings.filterwarnings("ignore", "A worker stopped while some jobs")
        done: Iterable[Any] = workers(delayed(time_run)(run, cell) for cell in missing)
        for place, (cell, outcome, seconds) in enumerate(done, 1):
            row = store.add(cell, outcome, seconds)
            told = f"{describe(cell)}: {describe_metrics(row)} ({seconds:.0f} s)"
            say(f"{place}/{len(missing)} {told}")
    rows = [store.find(cell) for cell in cells]
    return [row for row in rows if row is not None]


def time_run(run: Callable[[Cell], Outcome], cell: Cell) -> tuple[Cell, Outcome, float]:
    """A run on one thread, as several share the machine, and its processor seconds."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    began = time.process_time()
    try:
        outcome = run(cell)
    finally:
        torch.set_num_threads(before)
    return cell, outcome, time.process_time() - began


def describe(cell: Cell) -> str:
    """A cell in words."""
    fold = "" if cell.fold is None else f", fold {cell.fold}"
    return f"{cell.dataset}, {cell.model}{fold}, seed {cell.seed}"


def describe_metrics(row: Row) -> str:
    """The figures of a row in words."""
    return ", ".join(f"{name} {value:.2f}" for name, value in row["metrics"].items())
