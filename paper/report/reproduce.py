"""`crbm reproduce`: run what is missing, then render the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
    untuned as untuned_report,
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
    untuned,
)


@dataclass(frozen=True)
class Request:
    """What is to be repeated, and how.

    Parameters
    ----------
    folder
        Folder of the results. Finished runs are not repeated.
    quick
        Run a small version, stored in separate files.
    names
        Data sets; all unless given.
    options
        Of `runs.complete`.
    """

    folder: Path
    quick: bool
    names: Sequence[str] | None
    options: dict[str, Any]

    def store(self, name: str) -> Store:
        """The rows of an experiment."""
        return Store(self.folder / f"{name}{'-quick' if self.quick else ''}.jsonl")


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
        One of `TARGETS`, or "report" to render only.
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
        Data sets of the targets in `BY_DATASET`; all unless given.
    """
    if names and target not in BY_DATASET:
        raise ValueError(
            f"`--dataset` works with {', '.join(BY_DATASET)}, not with `{target}`."
        )
    if quick and target not in (*HAVE_QUICK, "report"):
        raise ValueError(f"There is no quick version of `{target}`; omit `--quick`.")
    paths: list[Path] = []
    if target != "report":
        folder.mkdir(parents=True, exist_ok=True)
        options = {"n_jobs": n_jobs, "echo": echo}
        with backend(dask):
            paths = TARGETS[target](Request(folder, quick, names, options))
        if target not in IN_REPORT:
            return paths
    pictures = [*paths, *draw_curves(folder, echo)]  # which the report includes
    return [*report.write(folder), *pictures]


def _images(asked: Request) -> list[Path]:
    store = asked.store(images.EXPERIMENT)
    images.complete(store, asked.names, quick=asked.quick, **asked.options)
    return [image_report.write(store, asked.folder, quick=asked.quick)]


def _bases(asked: Request) -> list[Path]:
    store = asked.store(bases.EXPERIMENT)
    bases.complete(store, asked.names, **asked.options)
    return bases_report.write(store, asked.folder)


def _untuned(asked: Request) -> list[Path]:
    store = asked.store(untuned.EXPERIMENT)
    untuned.complete(store, asked.names, **asked.options)
    return untuned_report.write(store, asked.folder)


def _rules(asked: Request) -> list[Path]:
    store = asked.store(rules.EXPERIMENT)
    own = runs.chosen(asked.names, (*rules.NAMES, missing_labels.DATASET))
    for experiment in (rules, missing_labels):
        wanted = [name for name in own if name in experiment.NAMES]
        if wanted:
            experiment.complete(store, wanted, **asked.options)
    return rules_report.write(store, asked.folder)


def _outputs(asked: Request) -> list[Path]:
    store = asked.store(outputs.EXPERIMENT)
    outputs.complete(store, asked.names, **asked.options)
    if asked.names and outputs.MOTION not in asked.names:
        return [store.path]
    return [store.path, skeleton.draw_walk(asked.folder / "motion.gif")]


def _table1(asked: Request) -> list[Path]:
    store = asked.store(table1.EXPERIMENT)
    table1.complete(store, quick=asked.quick, **asked.options)
    return []


def _digits(asked: Request, kinds: Sequence[str]) -> Store:
    digits, rates = map(asked.store, table2.STORES)
    table2.complete(digits, rates, kinds=kinds, quick=asked.quick, **asked.options)
    return digits


def _table2(asked: Request) -> list[Path]:
    _digits(asked, table2.KINDS)
    return []


def _figure2(asked: Request) -> list[Path]:
    digits = _digits(asked, (figure2.KIND,))
    rows = table2.best_rate_rows(list(digits))
    return figure2.draw(rows, asked.folder, quick=asked.quick)


def _trials(asked: Request) -> list[Path]:
    labels, digits = asked.store(table1.EXPERIMENT), asked.store(table2.STORES[0])
    trials.complete(labels, digits, **asked.options)
    return []


def _suite(asked: Request) -> list[Path]:
    store = asked.store(suite.EXPERIMENT)
    suite.complete(store, quick=asked.quick, **asked.options)
    return []


def _successors(asked: Request) -> list[Path]:
    successors.complete(asked.store(successors.EXPERIMENT), **asked.options)
    return []


TARGETS: dict[str, Callable[[Request], list[Path]]] = {
    "table1": _table1,
    "table2": _table2,
    "figure2": _figure2,
    "trials": _trials,
    "images": _images,
    "suite": _suite,
    "outputs": _outputs,
    "successors": _successors,
    "rules": _rules,
    "bases": _bases,
    "untuned": _untuned,
}
BY_DATASET = ("bases", "images", "outputs", "rules", "untuned")  # take `--dataset`
HAVE_QUICK = ("table1", "table2", "figure2", "images", "suite")
# Whose rows the report shows; the others write pages of their own.
IN_REPORT = ("table1", "table2", "figure2", "trials", "suite", "successors")


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


@contextmanager
def backend(dask: str | None) -> Iterator[None]:
    """Let joblib run on the Dask cluster with this address, if any."""
    if dask is None:
        yield
        return
    from distributed import Client

    with Client(dask), joblib.parallel_config(backend="dask"):
        yield
