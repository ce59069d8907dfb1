"""Training a model that restores noisy digits, by a declared configuration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from crbm import datasets, metrics, training
from crbm.inference import search
from crbm.models import CRBM, EnergyModel
from crbm.objectives import (
    ContrastiveDivergence,
    ExactLikelihood,
    MeanFieldLikelihood,
    Objective,
    Perceptron,
)
from crbm.training import History
from crbm.types import Batch
from paper.tables.network import Network

N_PIXELS = 784
ROWS_AT_ONCE = 1000
# how likely a change must be
THRESHOLDS = tuple(round(0.05 * place, 2) for place in range(1, 20))
OBJECTIVES: dict[str, Callable[[int], Objective]] = {
    "likelihood": lambda n_steps: ExactLikelihood(),
    "cd": ContrastiveDivergence,
    "perceptron": Perceptron,
    "mean_field": lambda n_steps: MeanFieldLikelihood(n_steps // 2),
}
START_RATE = 2**-2  # the paper's grid, chosen on occluded digits
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "momentum": lambda weights, lr: torch.optim.SGD(weights, lr=lr, momentum=0.9),
    "adam": torch.optim.Adam,
}


@dataclass(frozen=True)
class Config:
    """How a model is trained; the defaults are the paper's, Section 6.2.1.

    Parameters
    ----------
    model
        "crbm", or "network": a perceptron with one hidden layer.
    objective, n_steps
        The learning rule, and the steps of its chain or search.
    n_hidden, batch_size, n_epochs
        Sizes of the model, of an update and of the run.
    patience
        Epochs without a lower validation error before the run ends.
    optimizer
        "sgd" without anything, "momentum" of 0.9, or "adam".
    decay
        Whether the learning rate falls to zero along half a cosine.
    fresh_noise
        Whether each epoch sees its digits with new noise, not the same again.
    start_epochs
        Epochs of the paper's CD-PercLoss to start from; the best weights are taken.
    hidden_bias
        Where hidden units start, pixels starting at how often they are on; None starts
        all biases at zero. See `CRBM.start_biases`.
    """

    model: str = "crbm"
    objective: str = "perceptron"
    n_steps: int = 10
    n_hidden: int = 256
    batch_size: int = 128
    n_epochs: int = 128
    patience: int | None = 16
    optimizer: str = "sgd"
    decay: bool = False
    fresh_noise: bool = False
    start_epochs: int = 0
    hidden_bias: float | None = None

    def plain(self) -> dict[str, Any]:
        """As plain data; without a start where there is none, as rows had none once."""
        fields = asdict(self)
        if not self.start_epochs:
            del fields["start_epochs"]
        if self.hidden_bias is None:
            del fields["hidden_bias"]
        return fields


@dataclass(frozen=True)
class Digits:
    """Noisy and clean digits in three parts, and the noise that was put on them."""

    train: Batch
    valid: Batch
    test: Batch
    noise: Callable[[Batch, Generator | None], Batch]


@cache
def digits(kind: str, *, quick: bool = False) -> Digits:
    """MNIST with "corrupted" or "occluded" inputs: 50,000 / 10,000 / 10,000 digits.

    The quick version has 4,000 / 500 / 500 of the 5,000 that a package carries.
    """
    if quick:
        data = datasets.denoising(datasets.load("mnist-5k"), kind, seed=0)
        order = np.random.default_rng(0).permutation(len(data.X))
        parts = [order[:4000], order[4000:4500], order[4500:]]
    else:
        data = datasets.load(f"{kind}-mnist")
        parts = [data.splits[part] for part in ("train", "valid", "test")]
    X, Y = (torch.as_tensor(np.asarray(array)) for array in (data.X, data.Y))
    train, valid, test = (Batch(X[rows].float(), Y[rows].float()) for rows in parts)
    return Digits(train, valid, test, flip_pixels if kind == "corrupted" else occlude)


def flip_pixels(batch: Batch, generator: Generator | None) -> Batch:
    """The same digits with other pixels flipped."""
    return batch._replace(u=datasets.flip_pixels(batch.v, generator=generator))


def occlude(batch: Batch, generator: Generator | None) -> Batch:
    """The same digits with the patch somewhere else."""
    return batch._replace(u=datasets.occlude(batch.v, generator=generator))


def new_model(
    config: Config, generator: Generator, clean: Tensor | None = None
) -> EnergyModel:
    """A model with random weights, its biases started for clean images, if any."""
    if config.model == "network":
        return Network(N_PIXELS, N_PIXELS, config.n_hidden, generator)
    model = CRBM(N_PIXELS, N_PIXELS, config.n_hidden, generator)
    if config.hidden_bias is not None and clean is not None:
        model.start_biases(clean, hidden=config.hidden_bias)
    return model


def train(
    model: EnergyModel,
    config: Config,
    learning_rate: float,
    data: Digits,
    generator: Generator,
    n_epochs: int | None = None,
) -> History:
    """Train for the configured epochs, or so many; the best weights are kept."""
    n_epochs = n_epochs or config.n_epochs
    history = History()
    if config.start_epochs:
        first = Config(n_hidden=config.n_hidden, batch_size=config.batch_size)
        n_first = config.start_epochs
        history = train(model, first, START_RATE, data, generator, n_first)
    optimizer, callback = None, None
    if config.optimizer != "sgd" or config.decay:
        optimizer = OPTIMIZERS[config.optimizer](model.parameters(), lr=learning_rate)
    if config.decay and optimizer is not None:
        callback = _half_cosine(optimizer, learning_rate, n_epochs)
    part = training.fit(
        model,
        OBJECTIVES[config.objective](config.n_steps),
        data.train,
        n_epochs=n_epochs,
        batch_size=config.batch_size,
        learning_rate=learning_rate,
        generator=generator,
        validation=data.valid,
        augment=data.noise if config.fresh_noise else None,
        optimizer=optimizer,
        patience=config.patience,
        callback=callback,
    )
    return _concatenate(history, part)


def _concatenate(history: History, part: History) -> History:
    """One history after another; the model has the weights of the later one."""
    best = part.best_epoch
    if best is not None:
        best += len(history.epochs)
    return History([*history.epochs, *part.epochs], best, part.stopped)


def _half_cosine(
    optimizer: torch.optim.Optimizer, learning_rate: float, n_epochs: int
) -> Callable[[int, training.Epoch], None]:
    """After each epoch a lower learning rate, zero after the last."""

    def lower(place: int, epoch: training.Epoch) -> None:
        for group in optimizer.param_groups:
            passed = (place + 1) / n_epochs
            group["lr"] = learning_rate * (1 + math.cos(math.pi * passed)) / 2

    return lower


@torch.no_grad()
def predict(model: EnergyModel, u: Tensor, n_steps: int = 10) -> Tensor:
    """The model's predictions: the best of ten mean-field states, not yet rounded."""
    return torch.cat(
        [
            search.mean_field(model.condition(part), n_steps=n_steps).v
            for part in u.split(ROWS_AT_ONCE)
        ]
    )


def errors_by_block(
    part: Batch, predicted: Tensor, n_blocks: int = 10
) -> dict[str, list[float]]:
    """The same errors in each tenth of the cases, for paired comparisons."""
    rows = torch.arange(part.n_cases).chunk(n_blocks)
    blocks = [pixel_errors(part.select(block), predicted[block]) for block in rows]
    return {name: [block[name] for block in blocks] for name in blocks[0]}


def errors_by_threshold(part: Batch, predicted: Tensor) -> dict[str, list[float]]:
    """The same errors for each of `THRESHOLDS`: the two can be traded for each other.

    Who changes a pixel sooner restores more of those that the noise changed, and spoils
    more of the others.
    """
    errors = [pixel_errors(part, predicted, each) for each in THRESHOLDS]
    return {name: [error[name] for error in errors] for name in errors[0]}


def pixel_errors(
    part: Batch, predicted: Tensor, threshold: float = 0.5
) -> dict[str, float]:
    """Wrong pixels among all and among those that the noise changed, in percent.

    A pixel is changed where the model holds that for likelier than `threshold`.

    Examples
    --------
    >>> part = Batch(u=torch.tensor([[0.0, 1.0]]), v=torch.tensor([[1.0, 1.0]]))
    >>> pixel_errors(part, torch.tensor([[0.4, 0.6]]))
    {'all': 50.0, 'changed': 100.0}
    >>> pixel_errors(part, torch.tensor([[0.4, 0.6]]), threshold=0.3)
    {'all': 50.0, 'changed': 0.0}
    """
    assert part.u is not None
    rounded = torch.where(
        part.u > 0.5, predicted > 1 - threshold, predicted > threshold
    )
    return {
        "all": 100 * metrics.all_error(part.v, rounded),
        "changed": 100 * metrics.changed_error(part.v, rounded, part.u),
    }
