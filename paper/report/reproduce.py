"""`crbm reproduce`: run what is missing, then render the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib

from crbm import plotting
from paper.engine import runs
from paper.engine.store import Store
from paper.report import (
    bases as bases_report,
    curves,
    images as image_report,
    report,
    rules as rules_report,
    skeleton,
    suite_tables,
)
from paper.tables import (
    bases,
    figure2,
    images,
    missing_labels,
    outputs,
    rules,
    successors,
    suite,
    table1,
    table2,
    trials,
)

BY_DATASET = ("bases", "images", "outputs", "rules")  # take `--dataset`


def run(
    target: str,
    folder: Path,
    *,
    quick: bool,
    n_jobs: int,
    dask: str | None,
    echo: Callable[[str], None],
    names: Sequence[str] | None = None,
) -> list[Path]:
    """Reproduce a table or figure of the paper; returns the paths of the report.

    Parameters
    ----------
    target
        "table1", "table2", "figure2", "trials", "images", "suite", "outputs" (digits,
        letters, motion and real targets), "successors", "rules" (objectives side by
        side), "bases" (classifiers alone and in a HashCRBM), or "report" to render
        only.
    folder
        Folder of the results. Finished runs are not repeated.
    quick
        Run a small version, stored in separate files.
    n_jobs
        Number of parallel runs.
    dask
        Address of a Dask scheduler that runs them.
    echo
        Prints a line of progress.
    names
        Data sets of "bases", "images", "outputs" or "rules"; all unless given.
    """
    if names and target not in BY_DATASET:
        raise ValueError(
            f"`--dataset` works with {', '.join(BY_DATASET)}, not with `{target}`."
        )
    if target in ("trials", "successors", "outputs", "rules", "bases") and quick:
        raise ValueError(f"There is no quick version of `{target}`; omit `--quick`.")
    if target != "report":
        folder.mkdir(parents=True, exist_ok=True)
    run_options: dict[str, Any] = {"n_jobs": n_jobs, "echo": echo}
    digits, rates = (_store(folder, name, quick) for name in table2.STORES)
    labels = _store(folder, table1.EXPERIMENT, quick)
    pictures: list[Path] = []
    with backend(dask):
        if target == "images":
            store = _store(folder, images.EXPERIMENT, quick)
            images.complete(store, names, quick=quick, **run_options)
            return [image_report.write(store, folder, quick=quick)]
        if target == "bases":
            store = _store(folder, bases.EXPERIMENT, quick)
            bases.complete(store, names, **run_options)
            return bases_report.write(store, folder)
        if target == "rules":
            store = _store(folder, rules.EXPERIMENT, quick)
            own = runs.chosen(names, (*rules.NAMES, missing_labels.DATASET))
            for experiment in (rules, missing_labels):
                wanted = [name for name in own if name in experiment.NAMES]
                if wanted:
                    experiment.complete(store, wanted, **run_options)
            return rules_report.write(store, folder)
        if target == "table1":
            table1.complete(labels, quick=quick, **run_options)
        elif target == "trials":
            trials.complete(labels, digits, **run_options)
        elif target == "suite":
            store = _store(folder, suite.EXPERIMENT, quick)
            suite.complete(store, quick=quick, **run_options)
        elif target == "outputs":
            store = _store(folder, outputs.EXPERIMENT, quick)
            outputs.complete(store, names, **run_options)
            if names and outputs.MOTION not in names:
                return [store.path]
            return [store.path, skeleton.draw_walk(folder / "motion.gif")]
        elif target == "successors":
            store = _store(folder, successors.EXPERIMENT, quick)
            successors.complete(store, **run_options)
        elif target != "report":
            kinds = table2.KINDS if target == "table2" else (figure2.KIND,)
            table2.complete(digits, rates, kinds=kinds, quick=quick, **run_options)
            if target == "figure2":
                rows = table2.best_rate_rows(list(digits))
                pictures = figure2.draw(rows, folder, quick=quick)
    pictures += draw_curves(folder, echo)
    return [*report.write(folder), *pictures]


def draw_curves(folder: Path, echo: Callable[[str], None]) -> list[Path]:
    """Plot the curves of all rows; skipped with a message without matplotlib."""
    paths = []
    for tag in ("", "-quick"):
        store = Store(folder / f"{table2.EXPERIMENT}{tag}.jsonl")
        comparison = list(Store(folder / f"{suite.EXPERIMENT}{tag}.jsonl"))
        try:
            paths += curves.draw(list(store), folder, tag)
            if suite.current_rows(comparison):
                figure = suite_tables.draw(comparison)
                paths += plotting.write_all({f"ranks{tag}": figure}, folder)
        except ImportError as error:
            echo(f"Curves are skipped: {error}")
    return paths


def _store(folder: Path, name: str, quick: bool) -> Store:
    return Store(folder / f"{name}{'-quick' if quick else ''}.jsonl")


@contextmanager
def backend(dask: str | None) -> Iterator[None]:
    """Let joblib run on the Dask cluster with this address, if any."""
    if dask is None:
        yield
        return
    from distributed import Client

    with Client(dask), joblib.parallel_config(backend="dask"):
        yield
