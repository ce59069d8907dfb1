"""Other kinds of outputs: classes, real values, label sets never seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crbm.kernels import onednn
from paper.engine import runs
from paper.engine.store import Cell, Outcome, Row, Store
from paper.tables import classes, letters, motion, multi_target, unseen_sets

EXPERIMENT = "outputs"
LETTERS, DIGITS, MOTION = "letters", "mnist", "mocap"
DATASETS = (MOTION, DIGITS, LETTERS, *multi_target.SETS, *unseen_sets.NAMES)
N_LETTER_FOLDS = 10


def cells(names: Sequence[str] = DATASETS) -> list[Cell]:
    """All runs on these data sets, fold by fold."""
    wanted = [
        Cell(EXPERIMENT, MOTION, name, None, 0, options)
        for name, options in motion.MODELS.items()
    ]
    wanted += [
        Cell(EXPERIMENT, DIGITS, name, None, 0, config.to_dict())
        for name, config in classes.MODELS[DIGITS].items()
    ]
    by_letter = {name: c.to_dict() for name, c in classes.MODELS[LETTERS].items()}
    wanted += [
        Cell(EXPERIMENT, LETTERS, name, fold, 0, options)
        for models in (by_letter, letters.MODELS)  # of each letter, of whole words
        for fold in range(N_LETTER_FOLDS)
        for name, options in models.items()
    ]
    wanted += [
        Cell(EXPERIMENT, dataset, name, half, 0, options)
        for half in range(2 * multi_target.N_REPETITIONS)
        for dataset in multi_target.SETS
        for name, options in multi_target.MODELS.items()
    ]
    wanted += [
        Cell(EXPERIMENT, dataset, name, fold, 0, options)
        for dataset in unseen_sets.NAMES
        for fold in range(unseen_sets.N_FOLDS)
        for name, options in unseen_sets.MODELS.items()
    ]
    return [cell for cell in wanted if cell.dataset in names]


@onednn.disabled()  # so that published rows repeat
def run_cell(cell: Cell) -> Outcome:
    """Run one cell of any of the experiments."""
    if cell.dataset in multi_target.SETS:
        return multi_target.run_cell(cell)
    if cell.dataset in unseen_sets.NAMES:
        return unseen_sets.run_cell(cell)
    if cell.dataset == MOTION:
        return motion.run_cell(cell)
    if cell.model in letters.MODELS:
        return letters.run_cell(cell)
    return classes.run_cell(cell)


def complete(
    store: Store, names: Sequence[str] | None = None, **run_options: Any
) -> list[Row]:
    """Run the cells that are missing; all data sets unless names are given."""
    wanted = runs.chosen(names, DATASETS)
    return runs.complete(cells(wanted), run_cell, store, **run_options)
