"""Table 2: restoring corrupted and occluded digits, by the paper's protocol.

The learning rate of each model is chosen on the validation digits by successive
halving over the paper's grid; then the model is trained from several seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from crbm.experiments import denoising, runs
from crbm.experiments.denoising import Config
from crbm.experiments.halving import halving
from crbm.experiments.store import Cell, Outcome, Row, Store

EXPERIMENT, SEARCH = STORES = "table2", "table2-rates"
KINDS = ("corrupted", "occluded")
BASELINE = "Baseline"
# The paper's grid, and one for Adam, whose steps have another size.
RATES = tuple(2.0**-power for power in range(0, 16, 2))
ADAM_RATES = tuple(2.0**-power for power in range(6, 14, 2))
RUNGS, QUICK_RUNGS = (1, 2, 5), (1, 1)
SEEDS = (0, 1, 2)
QUICK_EPOCHS = 10

PAPER = {
    "LogReg": Config(objective="likelihood", n_hidden=0),
    "CD-1": Config(objective="cd", n_steps=1),
    "CD-10": Config(objective="cd", n_steps=10),
    "CD-PercLoss": Config(objective="perceptron", n_steps=10),
    "MLP-256": Config(model="network", objective="likelihood", optimizer="adam"),
}
# Ours: the same model with new noise in each epoch and a rate that falls to zero from
# one of the paper's grid, by CD-PercLoss and then by the likelihood of its prediction;
# beside it CD-PercLoss alone, and the network under the same noise.
_FRESH: dict[str, Any] = {
    "fresh_noise": True,
    "decay": True,
    "patience": None,
    "n_epochs": 64,
}
OURS = {
    "CD-PercLoss, fresh noise (ours)": Config(**_FRESH),
    "CD-PercLoss, then mean field (ours)": Config(
        objective="perceptron, mean_field", **_FRESH
    ),
    "MLP-256, fresh noise": Config(
        model="network", objective="likelihood", optimizer="adam", **_FRESH
    ),
}
FIXED_RATES = dict(zip(OURS, (2**-2, 2**-2, 2**-10), strict=True))
MODELS = {**PAPER, **OURS}


def complete(
    store: Store,
    rates: Store,
    *,
    kinds: Sequence[str] = KINDS,
    models: Sequence[str] | None = None,
    seeds: Sequence[int] = SEEDS,
    quick: bool = False,
    **how: Any,
) -> list[Row]:
    """All rows of the table, run where they are missing."""
    if quick:
        seeds = seeds[:1]
    models = models or list(MODELS)
    open_ones = [name for name in models if name not in FIXED_RATES]
    searches = search_cells(kinds, open_ones, quick)
    rows = runs.complete(searches, choose_rate, rates, **how)
    chosen = {(row["dataset"], row["model"]): row["details"] for row in rows}
    keep_weights = partial(restore, models=store.path.parent / "models")
    wanted = cells(kinds, models, chosen, seeds, quick)
    return runs.complete(wanted, keep_weights, store, **how)


def search_cells(
    kinds: Sequence[str], models: Sequence[str], quick: bool
) -> list[Cell]:
    """One search for a learning rate for each model and kind of noise."""
    rungs = QUICK_RUNGS if quick else RUNGS
    return [
        Cell(SEARCH, kind, name, None, 0, _plain(name, quick, rungs=rungs))
        for kind in kinds
        for name in models
    ]


def cells(
    kinds: Sequence[str],
    models: Sequence[str],
    chosen: Mapping[tuple[str, str], Mapping[str, Any]],
    seeds: Sequence[int],
    quick: bool,
) -> list[Cell]:
    """The baselines, then one run for each seed, model and kind of noise."""
    found = [
        Cell(EXPERIMENT, kind, BASELINE, None, 0, {"quick": quick}) for kind in kinds
    ]
    for seed in seeds:
        for kind in kinds:
            for name in models:
                rate = FIXED_RATES.get(name)
                rate = rate or chosen[kind, name]["learning_rate"]
                config = _plain(name, quick, learning_rate=rate)
                found.append(Cell(EXPERIMENT, kind, name, None, seed, config))
    return found


def choose_rate(cell: Cell) -> Outcome:
    """The learning rate that successive halving is left with."""
    config, options = declared(cell)
    data = denoising.digits(cell.dataset, quick=options["quick"])
    contenders = {}
    for rate in ADAM_RATES if config.optimizer == "adam" else RATES:
        generator = torch.Generator().manual_seed(cell.seed)
        contenders[rate] = denoising.new_model(config, generator), generator
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
    config, options = declared(cell)
    generator = torch.Generator().manual_seed(cell.seed)
    model = denoising.new_model(config, generator)
    rate = options["learning_rate"]
    history = denoising.train(model, config, rate, data, generator)
    assert data.test.u is not None
    predicted = denoising.restored(model, data.test.u)
    if models is not None:
        models.mkdir(parents=True, exist_ok=True)
        save_file(model.state_dict(), weights_of(cell, models))
    details = {
        "blocks": denoising.errors_by_block(data.test, predicted),
        "best_epoch": history.best_epoch,
        "stopped": history.stopped,
        "loss": history.loss,
        "validation": [100 * e for e in history.validation if e is not None],
    }
    return Outcome(denoising.pixel_errors(data.test, predicted), details)


def weights_of(cell: Cell, folder: Path) -> Path:
    """Where the weights of a run are kept."""
    name = f"{cell.dataset}-{cell.model}-{cell.seed}.safetensors"
    return folder / name.lower().replace(" ", "-")


_OPTIONS = ("quick", "rungs", "learning_rate")


def _plain(name: str, quick: bool, **options: Any) -> dict[str, Any]:
    config = MODELS[name]
    if quick:
        config = replace(config, n_epochs=QUICK_EPOCHS)
    return {**asdict(config), "quick": quick, **options}


def declared(cell: Cell) -> tuple[Config, dict[str, Any]]:
    """The configuration of a cell, and what the table adds to it."""
    options = {name: value for name, value in cell.config.items() if name in _OPTIONS}
    rest = {name: v for name, v in cell.config.items() if name not in _OPTIONS}
    return Config(**rest), options
