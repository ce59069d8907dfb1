"""Compare the errors of models trained with chains in bfloat16 and in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from crbm import training
from crbm.models import CRBM
from crbm.objectives import ContrastiveDivergence, Objective, Perceptron
from crbm.objectives.base import PRECISIONS
from paper.tables import denoising

N_EPOCHS, N_HIDDEN = 6, 256
SEEDS = (0, 1, 2)
OBJECTIVES: dict[str, Callable[[str], Objective]] = {
    "CD-10": lambda precision: ContrastiveDivergence(10, precision),
    "CD-PercLoss-10": lambda precision: Perceptron(10, precision),
}


def rows(echo: Callable[[str], None]) -> list[dict[str, Any]]:
    """Wrong pixels in percent in either precision, trained on 4,000 occluded digits."""
    data = denoising.load_digits("occluded", quick=True)
    results = []
    for name, make_objective in OBJECTIVES.items():
        for seed in SEEDS:
            echo(f"{name}, seed {seed} ...")
            errors = {
                precision: _error(make_objective(precision), data, seed)
                for precision in PRECISIONS
            }
            gap = errors["bf16"] - errors["full"]
            row = {"objective": name, "seed": seed, **errors, "difference": gap}
            results.append(row)
    return results


def _error(objective: Objective, data: denoising.Digits, seed: int) -> float:
    generator = torch.Generator().manual_seed(seed)
    n_pixels = data.train.v.shape[1]
    model = CRBM(n_pixels, n_pixels, N_HIDDEN, generator)
    training.fit(model, objective, data.train, n_epochs=N_EPOCHS, generator=generator)
    assert data.test.u is not None
    predicted = denoising.predict(model, data.test.u)
    return denoising.pixel_errors(data.test, predicted)["all"]
