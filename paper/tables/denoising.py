"""Train and test models that restore noisy digits, from a declared configuration."""

from __future__ import annotations

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
PREDICTION_BATCH = 1000
# on the probability that a pixel of the input is wrong
THRESHOLDS = tuple(round(0.05 * i, 2) for i in range(1, 20))
OBJECTIVES: dict[str, Callable[[int], Objective]] = {
    "likelihood": lambda n_steps: ExactLikelihood(),
    "cd": ContrastiveDivergence,
    "perceptron": Perceptron,
    "mean_field": lambda n_steps: MeanFieldLikelihood(n_steps // 2),
}
START_RATE = 2**-2  # from the paper's grid, chosen on occluded digits
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer] | None] = {
    "sgd": None,
    "momentum": lambda weights, lr: torch.optim.SGD(weights, lr=lr, momentum=0.9),
    "adam": torch.optim.Adam,
}


@dataclass(frozen=True)
class Config:
    """Configuration of a training; the defaults are those of the paper, Section 6.2.1.

    Parameters
    ----------
    model
        "crbm", or "network": a perceptron with one hidden layer.
    objective, n_steps
        The objective, and the steps of its chain or search.
    n_hidden, batch_size, n_epochs
        Numbers of hidden units, of cases per update and of epochs.
    patience
        Epochs without a lower validation error before training stops.
    optimizer
        "sgd" without momentum, "momentum" (SGD with momentum 0.9), or "adam".
    decay
        Whether the learning rate decays to zero along half a cosine.
    fresh_noise
        Whether each epoch has new noise.
    start_epochs
        Epochs of training by the paper's CD-PercLoss before the objective is used.
    hidden_bias
        Initial bias of the hidden units; the visible biases are then initialised to the
        log-odds of the pixels. None initialises all biases to zero. See
        `CRBM.start_biases`.
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

    def to_dict(self) -> dict[str, Any]:
        """As JSON; unset fields are left out, so that older rows still match."""
        fields = asdict(self)
        if not self.start_epochs:
            del fields["start_epochs"]
        if self.hidden_bias is None:
            del fields["hidden_bias"]
        return fields


@dataclass(frozen=True)
class Digits:
    """Noisy and clean digits in three parts, and the function that adds the noise."""

    train: Batch
    valid: Batch
    test: Batch
    noise: Callable[[Batch, Generator | None], Batch]


@cache
def load_digits(kind: str, *, quick: bool = False) -> Digits:
    """MNIST with "corrupted" or "occluded" inputs: 50,000 / 10,000 / 10,000 digits.

    The quick version has 4,000 / 500 / 500 digits of the data set `mnist-5k`.
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
    """The same digits with new flipped pixels."""
    return batch._replace(u=datasets.flip_pixels(batch.v, generator=generator))


def occlude(batch: Batch, generator: Generator | None) -> Batch:
    """The same digits with the patch at a new position."""
    return batch._replace(u=datasets.occlude(batch.v, generator=generator))


def make_model(
    config: Config, generator: Generator, clean: Tensor | None = None
) -> EnergyModel:
    """A model with random weights; its biases are initialised from clean images."""
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
    """Train for `n_epochs`, by default those of `config`; the best weights remain."""
    n_epochs = n_epochs or config.n_epochs
    history = History()
    if config.start_epochs:
        first = Config(n_hidden=config.n_hidden, batch_size=config.batch_size)
        n_first = config.start_epochs
        history = train(model, first, START_RATE, data, generator, n_first)
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
        optimizer=OPTIMIZERS[config.optimizer],
        patience=config.patience,
        hooks=[training.CosineSchedule()] if config.decay else [],
    )
    return _concatenate(history, part)


def _concatenate(history: History, part: History) -> History:
    """Both histories as one; the model has the weights of the second one."""
    best = part.best_epoch
    if best is not None:
        best += len(history.epochs)
    return History([*history.epochs, *part.epochs], best, part.stopped)


@torch.no_grad()
def predict(model: EnergyModel, u: Tensor, n_steps: int = 10) -> Tensor:
    """Predicted probabilities: the mean-field state of `n_steps` with the lowest F."""
    return torch.cat(
        [
            search.mean_field(model.condition(part), n_steps=n_steps).v
            for part in u.split(PREDICTION_BATCH)
        ]
    )


def errors_by_block(
    part: Batch, predicted: Tensor, n_blocks: int = 10
) -> dict[str, list[float]]:
    """`pixel_errors` of each tenth of the cases, for paired comparisons."""
    rows = torch.arange(part.n_cases).chunk(n_blocks)
    blocks = [pixel_errors(part.select(block), predicted[block]) for block in rows]
    return {name: [block[name] for block in blocks] for name in blocks[0]}


def errors_by_threshold(part: Batch, predicted: Tensor) -> dict[str, list[float]]:
    """`pixel_errors` at each of `THRESHOLDS`.

    A lower threshold restores more of the changed pixels and damages more others.
    """
    errors = [pixel_errors(part, predicted, threshold) for threshold in THRESHOLDS]
    return {name: [error[name] for error in errors] for name in errors[0]}


def pixel_errors(
    part: Batch, predicted: Tensor, threshold: float = 0.5
) -> dict[str, float]:
    """Wrong pixels among all and among those that the noise changed, in percent.

    The prediction differs from the input where the model gives this a probability of
    more than `threshold`.

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
