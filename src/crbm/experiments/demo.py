"""A first look in seconds: restoring occluded digits, by each learning rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from torch import Generator

from crbm import training
from crbm.experiments.pictures import all_and_changed, restoration_figure
from crbm.inference import search
from crbm.models import CRBM
from crbm.objectives import (
    ContrastiveDivergence,
    ExactLikelihood,
    Objective,
    Perceptron,
)
from crbm.types import Batch

SHAPE = (8, 8)
PATCH = 4
RULES: dict[str, tuple[Objective, int]] = {
    "LogReg": (ExactLikelihood(), 0),
    "CD-1": (ContrastiveDivergence(1), 64),
    "CD-10": (ContrastiveDivergence(10), 64),
    "CD-PercLoss": (Perceptron(10), 64),
}


def run(
    folder: Path, *, n_epochs: int = 150, seed: int = 0
) -> dict[str, dict[str, float]]:
    """Train each rule on the small digits of scikit-learn, and show the errors."""
    generator = torch.Generator().manual_seed(seed)
    train, test = occluded_digits(generator)
    assert test.u is not None
    errors = {"noisy input": all_and_changed(test.u, test.v, test.u)}
    restored = {}
    for name, (rule, n_hidden) in RULES.items():
        model = CRBM(64, 64, n_hidden, generator)
        training.fit(model, rule, train, n_epochs=n_epochs, generator=generator)
        with torch.no_grad():
            restored[name] = search.mean_field(model.condition(test.u)).v
        errors[name] = all_and_changed(restored[name], test.v, test.u)
    shown = torch.arange(0, 80, 10)
    picture = restoration_figure(
        test.u[shown],
        {name: images[shown] for name, images in restored.items()}
        | {"clean": test.v[shown]},
        SHAPE,
        folder / "restored.png",
    )
    _report(errors, picture)
    return errors


def occluded_digits(generator: Generator) -> tuple[Batch, Batch]:
    """Real 8x8 digits with a random patch set to 0: training and test cases."""
    images = torch.from_numpy((load_digits().images > 7).astype(np.float32))
    order = torch.randperm(len(images), generator=generator)
    clean = images[order]
    noisy = clean.clone()
    places = torch.randint(SHAPE[0] - PATCH + 1, (len(clean), 2), generator=generator)
    for image, (row, column) in zip(noisy, places.tolist(), strict=True):
        image[row : row + PATCH, column : column + PATCH] = 0
    cases = Batch(noisy.flatten(1), clean.flatten(1))
    return cases.select(slice(0, 1500)), cases.select(slice(1500, None))


def _report(errors: Errors, picture: Path) -> None:
    table = Table(title="Occluded 8x8 digits: wrong pixels in percent, test set")
    for column in ("model", "all pixels", "changed pixels"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for name, error in errors.items():
        table.add_row(name, f"{error['all']:.2f}", f"{error['changed']:.1f}")
    console = Console()
    console.print(table)
    console.print(f"Restored digits: {picture}")
