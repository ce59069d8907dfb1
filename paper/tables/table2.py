"""Table 2: restoring corrupted and occluded digits, by the paper's protocol.

The learning rate of each model is chosen on the validation digits: successive halving
over the paper's grid, then whole trainings of what it found and of smaller rates until
the error rises; the best is trained from further seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from paper.engine import runs
from paper.engine.halving import halving
from paper.engine.store import Cell, Outcome, Row, Store
from paper.tables import denoising
from paper.tables.denoising import Config

Rates = dict[tuple[str, str], list[float]]
EXPERIMENT, SEARCH = STORES = "table2", "table2-rates"
KINDS = ("corrupted", "occluded")
BASELINE = "Baseline"
# The paper's grid has every other power of two, 2^0 to 2^-14. Whether its gradient of a
# batch is the mean, as here, or the sum, it does not say; by the sum over 128 cases the
# rates are the odd powers. So all are tried. Adam's steps have another size.
RATES = tuple(2.0**-power for power in range(15))
ADAM_RATES = tuple(2.0**-power for power in range(6, 14, 2))
RUNGS, QUICK_RUNGS = (1, 2, 5), (1, 1)
SEEDS = (0, 1, 2)
QUICK_EPOCHS = 10

# The paper does not say where its weights start. Hinton's guide to RBMs has outputs at
# their log-odds, and hidden units at 0 or, for few of them at a time, at about -4.
_START: dict[str, Any] = {"hidden_bias": -2.0}
PAPER = {
    "LogReg": Config(objective="likelihood", n_hidden=0),
    "CD-1": Config(objective="cd", n_steps=1, **_START),
    "CD-10": Config(objective="cd", n_steps=10, **_START),
    "CD-PercLoss": Config(objective="perceptron", n_steps=10, **_START),
    "MLP-256": Config(model="network", objective="likelihood", optimizer="adam"),
}
# Ours: the same model, trained first by the paper's CD-PercLoss, then by the
# likelihood of its prediction with new noise in each epoch and a rate that falls to
# zero; beside it the network with such noise from the beginning.
_FRESH: dict[str, Any] = {
    "fresh_noise": True,
    "decay": True,
    "patience": None,
    "n_epochs": 64,
}
OURS = {
    "CD-PercLoss, then mean field (ours)": Config(
        objective="mean_field",
        start_epochs=16,
        optimizer="momentum",
        **{**_START, **_FRESH, "n_epochs": 24},
    ),
    "MLP-256, fresh noise": Config(
        model="network", objective="likelihood", optimizer="adam", **_FRESH
    ),
}
# Their rates fall to zero, so a few epochs tell nothing of them.
START_RATES = dict(zip(OURS, (2**-4, 2**-8), strict=True))
MODELS = {**PAPER, **OURS}


def complete(
    store: Store,
    rates: Store,
    *,
    kinds: Sequence[str] = KINDS,
    models: Sequence[str] | None = None,
    quick: bool = False,
    **run_options: Any,
) -> list[Row]:
    """All rows of the table, run where they are missing."""
    models = models or list(MODELS)
    open_ones = [name for name in models if name not in START_RATES]
    searches = search_cells(kinds, open_ones, quick)
    found = runs.complete(searches, search_rates, rates, **run_options)
    keep_weights = partial(restore, models=store.path.parent / "models")

    def completed(seeds: Sequence[int], rates: Rates) -> list[Row]:
        wanted = cells(kinds, models, rates, seeds, quick)
        return runs.complete(wanted, keep_weights, store, **run_options)

    first, *others = SEEDS
    tried = {
        (kind, name): [START_RATES[name]]
        for kind in kinds
        for name in models
        if name in START_RATES
    }
    tried |= {_place(row): [row["details"]["learning_rate"]] for row in found}
    while True:
        rows = best_rate_rows(completed([first], tried))
        further = with_next(tried, rates_of(rows))
        if further == tried:
            break
        tried = further
    if others and not quick:
        rows += completed(others, rates_of(rows))
    return rows


def with_next(tried: Rates, best: Rates) -> Rates:
    """The rates that were tried, and the next smaller one where the smallest is best.

    A search for a few epochs favours rates that learn fast; smaller ones may end lower.

    Examples
    --------
    >>> with_next({("occluded", "CD-1"): [0.5]}, {("occluded", "CD-1"): [0.5]})
    {('occluded', 'CD-1'): [0.5, 0.25]}
    """
    further = {}
    for (kind, name), rates in tried.items():
        grid = grid_of(name)
        if best[kind, name] == rates[-1:]:
            rates = [*rates, *grid[grid.index(rates[-1]) + 1 :][:1]]
        further[kind, name] = rates
    return further


def grid_of(name: str) -> tuple[float, ...]:
    """The learning rates that a model may have, from the largest down."""
    return ADAM_RATES if MODELS[name].optimizer == "adam" else RATES


def current_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows of models as they are declared here; those of the past are left out."""
    return [
        row
        for row in rows
        if row["model"] == BASELINE
        or (
            row["model"] in MODELS
            and _without_rates(row["config"])
            == _plain(row["model"], row["config"]["quick"])
        )
    ]


def _without_rates(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in _RATES}


def best_rate_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows of each model at the rate that had the lowest error on validation.

    The first seed decides; rows of other rates are left out, and so are those of
    settings of the past.
    """
    rows = current_rows(rows)
    first = [row for row in rows if row["seed"] == SEEDS[0]]
    ranked = sorted(first, key=_lowest_error, reverse=True)
    wanted = rates_of(ranked)  # of several the last, which is the best
    return [row for row in rows if _rate(row) in wanted.get(_place(row), [_rate(row)])]


def _lowest_error(row: Row) -> float:
    return min(row["details"].get("validation", ()), default=math.inf)


def rates_of(rows: Iterable[Row]) -> Rates:
    """The learning rates that these runs had."""
    return {_place(row): [_rate(row)] for row in rows if _rate(row) is not None}


def _place(row: Row) -> tuple[str, str]:
    return row["dataset"], row["model"]


def _rate(row: Row) -> Any:
    return row["config"].get("learning_rate")


def search_cells(
    kinds: Sequence[str], models: Sequence[str], quick: bool
) -> list[Cell]:
    """One search for a learning rate for each model and kind of noise."""
    rungs = QUICK_RUNGS if quick else RUNGS
    found = []
    for kind in kinds:
        for name in models:
            config = _plain(name, quick, rungs=rungs, rates=grid_of(name))
            found.append(Cell(SEARCH, kind, name, None, 0, config))
    return found


def cells(
    kinds: Sequence[str],
    models: Sequence[str],
    rates: Rates,
    seeds: Sequence[int],
    quick: bool,
) -> list[Cell]:
    """The baselines, then one run for each seed, model and kind of noise."""
    found = [
        Cell(EXPERIMENT, kind, BASELINE, None, 0, {"quick": quick})
        for kind in kinds
        if SEEDS[0] in seeds
    ]
    for seed in seeds:
        for kind in kinds:
            for name in models:
                for rate in rates[kind, name]:
                    config = _plain(name, quick, learning_rate=rate)
                    found.append(Cell(EXPERIMENT, kind, name, None, seed, config))
    return found


def search_rates(cell: Cell) -> Outcome:
    """The errors of all learning rates as far as successive halving took them."""
    config, options = parse_config(cell)
    data = denoising.digits(cell.dataset, quick=options["quick"])
    contenders = {}
    for rate in options["rates"]:
        generator = torch.Generator().manual_seed(cell.seed)
        model = denoising.new_model(config, generator, data.train.v)
        contenders[rate] = model, generator
    errors: dict[str, list[float]] = {str(rate): [] for rate in contenders}

    def advance(rate: float, n_epochs: int) -> float:
        model, generator = contenders[rate]
        history = denoising.train(model, config, rate, data, generator, n_epochs)
        error = min([e for e in history.validation if e is not None], default=1.0)
        errors[str(rate)].append(100 * error)
        return error

    best = halving(list(contenders), advance, options["rungs"])
    return Outcome(
        {"validation": errors[str(best)][-1]},
        {
            "learning_rate": best,
            "validation_by_rung": errors,
        },
    )


def restore(cell: Cell, *, models: Path | None = None) -> Outcome:
    """Errors on the test digits of one trained model, or of the noisy digits.

    The weights are left in the folder `models`, if there is one, for pictures.
    """
    data = denoising.digits(cell.dataset, quick=cell.config["quick"])
    if cell.model == BASELINE:
        assert data.test.u is not None
        return Outcome(denoising.pixel_errors(data.test, data.test.u), {})
    config, options = parse_config(cell)
    generator = torch.Generator().manual_seed(cell.seed)
    model = denoising.new_model(config, generator, data.train.v)
    rate = options["learning_rate"]
    history = denoising.train(model, config, rate, data, generator)
    assert data.test.u is not None
    predicted = denoising.predict(model, data.test.u)
    if models is not None:
        models.mkdir(parents=True, exist_ok=True)
        save_file(model.state_dict(), weights_of(cell, models))
    details = {
        "blocks": denoising.errors_by_block(data.test, predicted),
        "by_threshold": denoising.errors_by_threshold(data.test, predicted),
        "best_epoch": history.best_epoch,
        "stopped": history.stopped,
        "loss": history.loss,
        "validation": [100 * e for e in history.validation if e is not None],
    }
    return Outcome(denoising.pixel_errors(data.test, predicted), details)


def weights_of(cell: Cell, folder: Path) -> Path:
    """Where the weights of a run are kept: another place for any other setting."""
    rate, digest = cell.config["learning_rate"], sha256(cell.key.encode()).hexdigest()
    name = f"{cell.dataset}-{cell.model}-{rate:g}-{cell.seed}-{digest[:8]}.safetensors"
    return folder / name.lower().replace(" ", "-")


_RATES = ("rungs", "rates", "learning_rate")
_OPTIONS = ("quick", *_RATES)


def _plain(name: str, quick: bool, **options: Any) -> dict[str, Any]:
    config = MODELS[name]
    if quick:
        n_first = min(config.start_epochs, QUICK_EPOCHS)
        config = replace(config, n_epochs=QUICK_EPOCHS, start_epochs=n_first)
    return {**config.plain(), "quick": quick, **options}


def parse_config(cell: Cell) -> tuple[Config, dict[str, Any]]:
    """The configuration of a cell, and what the table adds to it."""
    options = {name: value for name, value in cell.config.items() if name in _OPTIONS}
    rest = {name: v for name, v in cell.config.items() if name not in _OPTIONS}
    return Config(**rest), options
