"""Images: restoring digits, completing digits, labelling the pixels of photographs.

Each data set compares a `ConvCRBM` with the same network without hidden units, which is
a U-Net trained by per-pixel cross-entropy: same images, augmentation and updates. The
kind of hidden unit was chosen on validation digits after an earlier kind had been seen
on test parts of digits and horses. The network was chosen among four on validation
digits, 45 CPU seconds each; the numbers of epochs are what the CPU time allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import crbm
from crbm import objectives
from paper.engine import runs
from paper.engine.store import Cell, Outcome, Row, Store
from paper.tables.image_measures import (
    measure_completed,
    measure_labelled,
    measure_restored,
)
from paper.tables.image_tasks import (
    Task,
    load_camvid,
    load_horses,
    load_noisy,
    load_quadrants,
)

EXPERIMENT = "images"
OURS, PER_PIXEL = "ConvCRBM", "U-Net, per pixel"
SEEDS = (0, 1, 2)
QUADRANTS = ("quadrants-1", "quadrants-2", "quadrants-3")
UNLABELLED = 11  # of CamVid


@dataclass(frozen=True)
class Experiment:
    """A data set with the parameters of both models.

    Parameters
    ----------
    load
        From the fold and whether it is the quick version to a task.
    measure
        From a classifier and the test part to metrics and details.
    parameters
        Of `PixelClassifier`; `n_hidden` is that of the ConvCRBM.
    folds
        Splits of the data; None where there is one, which is run with each of `SEEDS`.
    n_short
        Epochs of a shorter training of the first seed, run before all others.
    models
        Names of the models, with the parameters that differ from `parameters`.
    """

    load: Callable[[int | None, bool], Task]
    measure: Callable[..., Outcome]
    parameters: Mapping[str, Any]
    folds: Sequence[int] | None = None
    n_short: int = 0
    models: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: {PER_PIXEL: {"n_hidden": 0}, OURS: {}}
    )


# The experiments, in order of priority

_DIGITS: dict[str, Any] = {
    "channels": [32, 64],
    "batch_size": 64,
    "learning_rate": 1.6e-2,
    "n_hidden": 8,
    "n_epochs": 16,
}
_QUADRANTS: dict[str, Any] = {
    **_DIGITS,
    "patch": 4,
    "channels": [64, 96],
    "n_hidden": 32,
    "n_epochs": 1,
}
_PHOTOS: dict[str, Any] = {
    "channels": [24, 48, 96],
    "batch_size": 16,
    "learning_rate": 4e-3,
    "n_hidden": 8,
    "n_epochs": 200,
}
_MAPS: dict[str, Any] = {
    "n_hidden": 0,
    "n_hidden_channels": 8,
    "kernel_size": 5,
    "n_epochs": 1,
    "n_train": 10_000,
}
EXPERIMENTS = {
    "occluded": Experiment(partial(load_noisy, "occluded"), measure_restored, _DIGITS),
    "horses": Experiment(load_horses, measure_labelled, _PHOTOS, folds=range(5)),
    "corrupted": Experiment(
        partial(load_noisy, "corrupted"), measure_restored, _DIGITS
    ),
    **{
        name: Experiment(
            partial(load_quadrants, number + 1),
            measure_completed,
            _QUADRANTS,
        )
        for number, name in enumerate(QUADRANTS)
    },
    "camvid": Experiment(
        load_camvid, measure_labelled, {**_PHOTOS, "n_epochs": 40, "ignore": UNLABELLED}
    ),
    "horses-full": Experiment(
        partial(load_horses, name="horses-full"),
        measure_labelled,
        {**_PHOTOS, "patch": 4, "batch_size": 8, "n_epochs": 40},
        folds=range(3),
    ),
}
# Section 5 of the paper at this scale: both objectives on the same ConvCRBM, whose
# hidden units are maps, trained on the first 10,000 digits.
OBJECTIVES: dict[str, objectives.Objective] = {
    "CD-1": objectives.ContrastiveDivergence(1),
    "CD-10": objectives.ContrastiveDivergence(10),
    "CD-PercLoss": objectives.Perceptron(10),
}
QUICK = {"n_epochs": 2, "channels": [8, 16]}


def cells(names: Sequence[str], quick: bool) -> list[Cell]:
    """One run per data set, fold or seed, and model; the short ones first."""
    short, wanted = [], []
    for name in names:
        experiment = EXPERIMENTS[name]
        each: list[tuple[int | None, int]] = [(None, seed) for seed in SEEDS]
        if experiment.folds is not None:
            each = [(fold, 0) for fold in experiment.folds]
        if experiment.n_short and not quick:
            few = {"n_epochs": experiment.n_short}
            short += _of_each_model(name, *each[0], quick, few)
        for fold, seed in each[: 1 if quick else None]:
            wanted += _of_each_model(name, fold, seed, quick, QUICK if quick else {})
    return short + sorted(wanted, key=lambda cell: cell.seed)


def _of_each_model(
    name: str, fold: int | None, seed: int, quick: bool, changed: Mapping[str, Any]
) -> list[Cell]:
    experiment = EXPERIMENTS[name]
    shared = {**experiment.parameters, **changed, "quick": quick}
    return [
        Cell(EXPERIMENT, name, model, fold, seed, {**shared, **own})
        for model, own in experiment.models.items()
    ]


def objective_cells(quick: bool) -> list[Cell]:
    """One run per objective, on occluded digits."""
    config = {**_DIGITS, **_MAPS, **(QUICK if quick else {}), "quick": quick}
    names = [f"ConvCRBM with maps, {name}" for name in OBJECTIVES]
    return [
        Cell(EXPERIMENT, "occluded", name, None, 0, {**config, "objective": objective})
        for name, objective in zip(names, OBJECTIVES, strict=True)
    ]


def run_cell(cell: Cell) -> Outcome:
    """Train one model and measure it on the test part."""
    experiment, config = EXPERIMENTS[cell.dataset], dict(cell.config)
    task = experiment.load(cell.fold, config.pop("quick"))
    train = task.train.first(config.pop("n_train", None))
    objective = OBJECTIVES.get(config.pop("objective", ""))
    measure = experiment.measure
    if config.get("n_hidden_channels"):  # log Z would take longer than training
        measure = partial(measure, with_nll=False)
    classifier = crbm.PixelClassifier(
        **config,
        objective=objective,
        augment=task.augment,
        random_state=cell.seed,
        n_threads=1,
    ).fit(train.images, train.masks)
    outcome = measure(classifier, task.test)
    details = {
        "n_parameters": sum(p.numel() for p in classifier.model_.parameters()),
        "n_train": len(train.images),
        "n_test": len(task.test.images),
        "loss": classifier.history_.loss,
        **outcome.details,
    }
    return Outcome(outcome.metrics, details)


def complete(
    store: Store,
    names: Sequence[str] | None = None,
    *,
    quick: bool = False,
    **run_options: Any,
) -> list[Row]:
    """Run the cells that are missing; all data sets unless names are given."""
    names = runs.chosen(names, list(EXPERIMENTS))
    wanted = cells(names, quick)
    if "occluded" in names:
        wanted += objective_cells(quick)
    return runs.complete(wanted, run_cell, store, **run_options)
