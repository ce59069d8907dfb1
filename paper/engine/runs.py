"""Run the cells of an experiment that have no row yet, several in parallel."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from joblib import Parallel, delayed

from crbm.kernels import onednn
from paper.engine.store import Cell, Outcome, Row, Store

Echo = Callable[[str], None]


def complete(
    cells: Sequence[Cell],
    run: Callable[[Cell], Outcome],
    store: Store,
    *,
    n_jobs: int = 1,
    echo: Echo = print,
) -> list[Row]:
    """Run the cells that are missing in the store; returns the rows of all cells.

    Each row is written as soon as its run ends, so an interrupted call loses only
    unfinished runs. joblib distributes the work; use `joblib.parallel_config` to run it
    on a Dask cluster.
    """
    missing = [cell for cell in cells if store.find(cell) is None]
    if missing:
        n_finished = len(cells) - len(missing)
        echo(f"{n_finished} of {len(cells)} runs are finished already.")
    workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    with warnings.catch_warnings():
        # joblib restarts workers whose memory grows, which cached data sets cause
        warnings.filterwarnings("ignore", "A worker stopped while some jobs")
        done: Iterable[Any] = workers(delayed(time_run)(run, cell) for cell in missing)
        for number, (cell, outcome, seconds) in enumerate(done, 1):
            row = store.add(cell, outcome, seconds)
            result = f"{describe(cell)}: {describe_metrics(row)} ({seconds:.0f} s)"
            echo(f"{number}/{len(missing)} {result}")
    rows = [store.find(cell) for cell in cells]
    return [row for row in rows if row is not None]


def chosen(names: Sequence[str] | None, available: Sequence[str]) -> list[str]:
    """The names given, or all that are available; raises for other names.

    Examples
    --------
    >>> chosen(None, ["digits", "letters"])
    ['digits', 'letters']
    """
    unknown = set(names or ()) - set(available)
    if unknown:
        raise ValueError(
            f"There is no data set `{min(unknown)}` in this experiment; choose from "
            f"{', '.join(available)}."
        )
    return list(names or available)


def time_run(run: Callable[[Cell], Outcome], cell: Cell) -> tuple[Cell, Outcome, float]:
    """Run a cell on one thread; returns the cell, its outcome and its CPU seconds.

    Without oneDNN, so that rows that were published before it repeat bit for bit; the
    runs that are also called beside this say so themselves.
    """
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    start = time.process_time()
    try:
        with onednn.disabled():
            outcome = run(cell)
    finally:
        torch.set_num_threads(n_threads)
    return cell, outcome, time.process_time() - start


def describe(cell: Cell) -> str:
    """Data set, model, fold and seed of a cell as text."""
    fold = "" if cell.fold is None else f", fold {cell.fold}"
    return f"{cell.dataset}, {cell.model}{fold}, seed {cell.seed}"


def describe_metrics(row: Row) -> str:
    """The metrics of a row as text."""
    return ", ".join(f"{name} {value:.2f}" for name, value in row["metrics"].items())
