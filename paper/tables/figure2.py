"""Figure 2: occluded digits restored by each model, and plots that explain it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from crbm import plotting
from crbm.models import EnergyModel
from paper.engine.store import Cell, Row
from paper.tables import denoising, table2

KIND = "occluded"
MODELS = ("CD-1", "CD-10", "CD-PercLoss", "CD-PercLoss, then mean field (ours)")
SHAPE = (28, 28)
N_DIGITS = 10
STEPS = (1, 2, 3, 5, 7, 10, 15, 20, 30)


def cells(rows: Sequence[Row]) -> dict[str, Cell]:
    """The runs of Table 2 to plot: those of the first seed."""
    first_seed = {
        row["model"]: Cell(*(row[field] for field in Cell._fields))
        for row in rows
        if row["dataset"] == KIND and row["seed"] == 0
    }
    return {model: first_seed[model] for model in MODELS if model in first_seed}


def load_or_train(cell: Cell, folder: Path) -> EnergyModel:
    """Load the model of a run; trains it again if its weights are missing."""
    path = table2.weights_path(cell, folder)
    if not path.exists():
        table2.run_cell(cell, models=folder)
    model = denoising.make_model(table2.parse_config(cell)[0], torch.Generator())
    model.load_state_dict(load_file(path))
    return model


def draw(rows: Sequence[Row], folder: Path, *, quick: bool) -> list[Path]:
    """Save all plots of trained models as PNG and SVG; returns the paths."""
    models = {
        name: load_or_train(cell, folder / "models")
        for name, cell in cells(rows).items()
    }
    data = denoising.load_digits(KIND, quick=quick)
    figures = {
        "figure2": restorations(models, data),
        "filters": filters(models),
        "error_by_steps": error_by_steps(models, data),
    }
    tag = "-quick" if quick else ""
    by_name = {f"{name}{tag}": figure for name, figure in figures.items()}
    return plotting.write_all(by_name, folder)


def restorations(models: Mapping[str, EnergyModel], data: denoising.Digits) -> Any:
    """Plot the first test digits, restored by each model."""
    u = data.test.u
    assert u is not None
    rows = slice(0, N_DIGITS)
    columns = {name: denoising.predict(m, u[rows]) for name, m in models.items()}
    columns["clean"] = data.test.v[rows]
    columns = {name.replace(", ", ",\n"): v for name, v in columns.items()}
    figure = plotting.new_figure(1.3 * (len(columns) + 1), 1.25 * N_DIGITS + 0.3)
    plotting.restoration(u[rows].numpy(), columns, SHAPE, figure=figure)
    return figure


def filters(models: Mapping[str, EnergyModel]) -> Any:
    """Plot the weights of the hidden units of each model."""
    figure = plotting.new_figure(2.7 * len(models), 3.5)
    axes = figure.subplots(1, len(models), squeeze=False)[0]
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        weights = model.state_dict()["weight_vh"].numpy()
        plotting.filters(weights, SHAPE, n_filters=36, ax=ax)
        ax.set_title(name.replace(", ", ",\n"))
    return figure


@torch.no_grad()
def error_by_steps(models: Mapping[str, EnergyModel], data: denoising.Digits) -> Any:
    """Plot test errors against the number of mean-field steps of the prediction."""
    figure = plotting.new_figure(10.0, 3.6)
    axes = figure.subplots(1, 2)
    part = data.test
    assert part.u is not None
    for name, model in models.items():
        errors = [
            denoising.pixel_errors(part, denoising.predict(model, part.u, n_steps))
            for n_steps in STEPS
        ]
        for ax, metric in zip(axes, ("all", "changed"), strict=True):
            ax.plot(STEPS, [error[metric] for error in errors], "o-", label=name)
    for ax, metric in zip(axes, ("all pixels", "changed pixels"), strict=True):
        ax.set(xlabel="mean-field steps", ylabel=f"wrong among {metric}, %")
        ax.legend()
    return figure
