"""A first look in minutes: both of the paper's algorithms on real, embedded data."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from demo import report
from demo.digits import Digits, restore
from demo.genes import Genes, label, verdicts

DIGITS = "1,000 occluded MNIST digits: wrong pixels, %"
GENES = "917 yeast genes, 14 functions each, %"


def run(
    folder: Path, *, n_epochs: int = 30, seed: int = 0, quiet: bool = False
) -> dict[str, Any]:
    """Train both algorithms and their rivals; leave tables, models and a report.

    Parameters
    ----------
    folder
        Where the report and the models go; made if it does not exist.
    n_epochs
        Passes over the digits.
    seed
        Of all randomness.
    quiet
        Whether to print nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)  # fails now, not after the training
    console, began = Console(quiet=quiet), time.perf_counter()
    digits = restore(n_epochs, seed, console.print)
    console.print(_table(DIGITS, digits.errors))
    genes = label(seed, console.print)
    console.print(_table(GENES, genes.errors))
    told = verdicts(genes)
    models = _save_models(folder, digits, genes)
    seconds = time.perf_counter() - began
    page = report.write(folder, digits, genes, seconds)
    for line in (*told, "", *_next_steps(folder, page)):
        console.print(line, highlight=False, soft_wrap=True)
    return {
        "digits": digits.errors,
        "yeast": genes.errors,
        "verdicts": told,
        "models": [str(path) for path in models],
        "report": str(page),
        "seconds": seconds,
    }


def _save_models(folder: Path, digits: Digits, genes: Genes) -> list[Path]:
    """The files of all our models."""
    named = {f"digits-{name}": model for name, model in digits.models.items()}
    named |= {f"yeast-{name}": model for name, model in genes.models.items()}
    paths = [folder / f"{name.lower()}.safetensors" for name in named]
    for path, model in zip(paths, named.values(), strict=True):
        model.save(path)
    return paths


def _next_steps(folder: Path, page: Path) -> list[str]:
    return [
        f"The report, one file: {page}",
        "What to try next:",
        *(f"  {command}" for command in report.next_commands(folder)),
    ]


def _table(title: str, errors: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table("model", title=title, title_justify="left")
    for column in next(iter(errors.values())):
        table.add_column(column, justify="right")
    for name, error in errors.items():
        table.add_row(name, *(f"{value:.2f}" for value in error.values()))
    return table
