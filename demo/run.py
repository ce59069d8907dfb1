"""Run the demo: train, print two tables, save the models and write the report."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning

from demo import report
from demo.digits import Digits, restore
from demo.genes import Genes, label, verdicts

DIGITS = "1,000 occluded MNIST digits: wrong pixels, %"
GENES = "917 yeast genes, 14 functions each, %"


def run(
    folder: Path, *, n_epochs: int = 30, seed: int = 0, quiet: bool = False
) -> dict[str, Any]:
    """Train all models; prints tables, saves the models and writes a report.

    Parameters
    ----------
    folder
        Folder for the report and the models; created if it does not exist.
    n_epochs
        Passes over the digits.
    seed
        Seed of the random numbers.
    quiet
        Whether to print nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)  # fail before the training, not after
    console, start = Console(quiet=quiet), time.perf_counter()
    with warnings.catch_warnings():
        # the demo has to end soon; its epochs are few on purpose
        warnings.simplefilter("ignore", ConvergenceWarning)
        digits = restore(n_epochs, seed, console.print)
        console.print(_table(DIGITS, digits.errors))
        genes = label(seed, console.print)
    console.print(_table(GENES, genes.errors))
    comparisons = verdicts(genes)
    models = _save_models(folder, digits, genes)
    seconds = time.perf_counter() - start
    page = report.write(folder, digits, genes, seconds)
    for line in (*comparisons, "", *_next_steps(folder, page)):
        console.print(line, highlight=False, soft_wrap=True)
    return {
        "digits": digits.errors,
        "yeast": genes.errors,
        "verdicts": comparisons,
        "models": [str(path) for path in models],
        "report": str(page),
        "seconds": seconds,
    }


def _save_models(folder: Path, digits: Digits, genes: Genes) -> list[Path]:
    """Save all our models; returns their paths."""
    by_name = {f"digits-{name}": model for name, model in digits.models.items()}
    by_name |= {f"yeast-{name}": model for name, model in genes.models.items()}
    paths = [folder / f"{name.lower()}.safetensors" for name in by_name]
    for path, model in zip(paths, by_name.values(), strict=True):
        model.save(path)
    return paths


def _next_steps(folder: Path, page: Path) -> list[str]:
    return [
        f"Report: {page}",
        "Try next:",
        *(f"  {command}" for command in report.next_commands(folder)),
    ]


def _table(title: str, errors: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table("model", title=title, title_justify="left")
    for column in next(iter(errors.values())):
        table.add_column(column, justify="right")
    for name, error in errors.items():
        table.add_row(name, *(f"{value:.2f}" for value in error.values()))
    return table
