"""Images: restoring digits, completing digits, labelling the pixels of photographs.

Each data set compares a model with hidden units with the same network without them,
trained by per-pixel cross-entropy: same images, augmentation and updates. On digits the
network, the learning rate and the objective were chosen on validation digits, in runs
of 25 to 40 CPU seconds, after an earlier kind of hidden unit had been seen on test
parts of digits and horses. On horses the patch, the learning rate, the epochs and the
use of mirror images were chosen on 50 of the 200 training images of the first split,
the number of channels on those of the first two, after a network three quarters as wide
had been seen on the test parts. The other numbers of epochs are what the CPU time
allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import crbm
from crbm import objectives
from crbm.kernels import onednn
from paper.engine import runs
from paper.engine.store import Cell, Outcome, Row, Store, key
from paper.tables import image_quadrants
from paper.tables.image_measures import measure_labelled, measure_restored
from paper.tables.image_tasks import Task, load_camvid, load_horses, load_noisy

EXPERIMENT = "images"
OURS, PER_PIXEL = "ConvCRBM", "U-Net, per pixel"
NETWORK, NETWORK_PER_PIXEL = "NetworkCRBM", "network, per pixel"
THREE_SEEDS = ((None, 0), (None, 1), (None, 2))
QUADRANTS = ("quadrants-1", "quadrants-2", "quadrants-3")
UNLABELLED = 11  # of CamVid
# The default of `PixelClassifier`, named so that rows of an earlier one are outdated.
_JOINT = {"objective": "likelihood, single pixels x 3"}


@dataclass(frozen=True)
class Experiment:
    """A data set with the parameters of both models.

    Parameters
    ----------
    run
        Trains and tests the model of a cell.
    parameters
        Of both models; `n_hidden` is that of the model with hidden units.
    runs
        Folds and seeds; no fold where there is one split of the data. The first seed
        of all data sets is run before the others.
    models
        Names of the models, with the parameters that differ from `parameters`.
    quick
        Parameters of the quick version.
    """

    run: Callable[[Cell], Outcome]
    parameters: Mapping[str, Any]
    runs: Sequence[tuple[int | None, int]] = THREE_SEEDS
    models: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: {PER_PIXEL: {"n_hidden": 0}, OURS: dict(_JOINT)}
    )
    quick: Mapping[str, Any] = field(
        default_factory=lambda: {"n_epochs": 2, "channels": [8, 16]}
    )


def run_classifier(
    cell: Cell,
    load: Callable[[int | None, bool], Task],
    measure: Callable[..., Outcome],
) -> Outcome:
    """Train a `PixelClassifier` and measure it on the test part.

    Parameters
    ----------
    cell
        The run.
    load
        From the fold and whether it is the quick version to a task.
    measure
        From a classifier and the test part to metrics and details.
    """
    config = dict(cell.config)
    task = load(cell.fold, config.pop("quick"))
    train = task.train.first(config.pop("n_train", None))
    objective = OBJECTIVES.get(config.pop("objective", ""))
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


def run_quadrants(cell: Cell, n_visible: int) -> Outcome:
    """Train a `NetworkCRBM` to complete digits, and test it."""
    return image_quadrants.run(n_visible, dict(cell.config), cell.seed)


# The experiments, in order of priority

_DIGITS: dict[str, Any] = {
    "channels": [32, 64],
    "batch_size": 64,
    "learning_rate": 1.6e-2,
    "n_hidden": 8,
    "n_epochs": 16,
}
_QUADRANTS: dict[str, Any] = {
    "width": 100,
    "n_steps": 5,
    "batch_size": 100,
    "learning_rate": 2e-3,
    "n_hidden": 128,
    "n_epochs": 20,
}
_PHOTOS: dict[str, Any] = {
    "channels": [24, 48, 96],
    "patch": 1,
    "mirror": True,
    "batch_size": 16,
    "learning_rate": 1.2e-2,
    "n_hidden": 8,
    "n_epochs": 200,
}
_MAPS: dict[str, Any] = {
    "n_hidden": 0,
    "n_hidden_channels": 8,
    "kernel_size": 5,
    "n_epochs": 4,
    "n_train": 10_000,
}


def _pixels(
    load: Callable[[int | None, bool], Task],
    measure: Callable[..., Outcome],
    parameters: Mapping[str, Any],
    runs: Sequence[tuple[int | None, int]] = THREE_SEEDS,
) -> Experiment:
    run = partial(run_classifier, load=load, measure=measure)
    return Experiment(run, parameters, runs)


EXPERIMENTS = {
    "occluded": _pixels(partial(load_noisy, "occluded"), measure_restored, _DIGITS),
    **{
        name: Experiment(
            partial(run_quadrants, n_visible=number),
            _QUADRANTS,
            models={NETWORK_PER_PIXEL: {"n_hidden": 0}, NETWORK: {}},
            quick={"n_epochs": 1, "n_hidden": 16},
        )
        for number, name in enumerate(QUADRANTS, 1)
    },
    "horses": _pixels(
        load_horses,
        measure_labelled,
        {**_PHOTOS, "channels": [32, 64, 128], "n_epochs": 400},
        [(fold, 0) for fold in range(5)],
    ),
    "corrupted": _pixels(
        partial(load_noisy, "corrupted"), measure_restored, {**_DIGITS, "n_epochs": 8}
    ),
    "camvid": _pixels(
        load_camvid,
        measure_labelled,
        {
            **_PHOTOS,
            "patch": 2,
            "n_hidden": 4,
            "n_epochs": 160,
            "ignore": UNLABELLED,
        },
    ),
    "horses-full": _pixels(
        partial(load_horses, name="horses-full"),
        measure_labelled,
        {**_PHOTOS, "patch": 4, "batch_size": 8},
        [(fold, fold) for fold in range(3)],
    ),
}
OBJECTIVES: dict[str, objectives.Objective] = {
    _JOINT["objective"]: objectives.ExactLikelihood(marginals=3.0),
    "CD-1": objectives.ContrastiveDivergence(1),
    "CD-10": objectives.ContrastiveDivergence(10),
    "CD-PercLoss": objectives.Perceptron(10),
}


def cells(names: Sequence[str], quick: bool) -> list[Cell]:
    """One run per data set, fold or seed, and model; the first seed first."""
    wanted = []
    for name in names:
        experiment = EXPERIMENTS[name]
        shared = {**experiment.parameters, **(experiment.quick if quick else {})}
        wanted += [
            Cell(EXPERIMENT, name, model, *run, {**shared, **own, "quick": quick})
            for run in experiment.runs[: 1 if quick else None]
            for model, own in experiment.models.items()
        ]
    if "occluded" in names:
        wanted += objective_cells(quick)
    return sorted(wanted, key=lambda cell: cell.seed)


# Section 5 of the paper at this scale: these objectives on the same ConvCRBM, whose
# hidden units are maps, trained on the first 10,000 digits.
COMPARED = ("CD-1", "CD-10", "CD-PercLoss")


def objective_cells(quick: bool) -> list[Cell]:
    """One run per objective and seed, on occluded digits."""
    shown = EXPERIMENTS["occluded"].quick if quick else {}
    config = {**_DIGITS, **_MAPS, **shown, "quick": quick}
    return [
        Cell(
            EXPERIMENT,
            "occluded",
            f"ConvCRBM with maps, {name}",
            fold,
            seed,
            {**config, "objective": name},
        )
        for fold, seed in THREE_SEEDS[: 1 if quick else None]
        for name in COMPARED
    ]


def current_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows of the runs that are declared here, without outdated ones."""
    names = list(EXPERIMENTS)
    wanted = {each.key for quick in (False, True) for each in cells(names, quick)}
    return [row for row in rows if key(row) in wanted]


@onednn.disabled()  # so that published rows repeat
def run_cell(cell: Cell) -> Outcome:
    """Train and test the model of a cell."""
    return EXPERIMENTS[cell.dataset].run(cell)


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
    return runs.complete(wanted, run_cell, store, **run_options)
