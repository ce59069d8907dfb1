"""One class per case by exact gradients: digits (MNIST) and letters (OCR words).

The conditional probability of one column of classes is a sum over the classes, so the
gradient of the likelihood is exact (Larochelle and Bengio, ICML 2008).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from crbm import datasets, training
from crbm.estimators.members import drop_inputs
from crbm.inference import exact
from crbm.models import CRBM
from crbm.objectives import ExactLikelihood
from crbm.types import Batch
from crbm.units import Categorical
from paper.engine.store import Cell, Outcome
from paper.tables import hybrid

ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class Config:
    """Configuration of a training by Adam with a learning rate that falls to zero.

    Parameters
    ----------
    n_hidden, init_scale
        Hidden units and the scale of their initial couplings to the classes; 0 hidden
        units are softmax regression.
    n_epochs, batch_size, learning_rate
        As everywhere.
    input_dropout
        Share of the inputs set to zero in each update.
    joint_weight
        Weight of log p(input, class) beside log p(class | input), as in `hybrid`.
    n_neighbours
        Letters before and after the one to classify whose pixels are inputs too.
    """

    n_hidden: int = 500
    init_scale: float = 0.1
    n_epochs: int = 20
    batch_size: int = 100
    learning_rate: float = 1e-3
    input_dropout: float = 0.0
    n_neighbours: int = 0
    joint_weight: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """As JSON; rows of runs without a joint weight do not name it."""
        found = asdict(self)
        if not self.joint_weight:
            del found["joint_weight"]
        return found


class Parts(NamedTuple):
    """Cases to learn from, to choose by and to test on."""

    train: Batch
    valid: Batch
    test: Batch


_LETTERS: dict[str, Any] = {"batch_size": 50, "learning_rate": 2e-3}
MODELS = {
    "mnist": {
        "softmax regression": Config(n_hidden=0, n_epochs=10),
        "CRBM, exact": Config(),
        "CRBM, exact, input dropout": Config(input_dropout=0.2),
        "CRBM, hybrid": Config(n_epochs=10, learning_rate=6e-3, joint_weight=0.01),
        "CRBM, exact, larger rate, dropout": Config(
            n_hidden=1000, n_epochs=30, learning_rate=6e-3, input_dropout=0.3
        ),
    },
    "letters": {
        "softmax regression": Config(n_hidden=0, **_LETTERS),
        "CRBM, exact": Config(n_hidden=300, input_dropout=0.3, **_LETTERS),
        "CRBM, exact, neighbours' pixels": Config(
            n_hidden=300, input_dropout=0.5, n_neighbours=3, **_LETTERS
        ),
    },
}


@cache
def load_digits() -> Parts:
    """MNIST in grey, 50,000 / 10,000 / 10,000."""
    data = datasets.load("mnist")
    parts = []
    for name in ("train", "valid", "test"):
        X, Y = data.part(name)
        u = torch.from_numpy(np.asarray(X, dtype=np.float32) / 255)
        parts.append(Batch(u, torch.from_numpy(np.asarray(Y, dtype=np.float32))))
    return Parts(*parts)


@cache
def load_letters(fold: int, n_neighbours: int) -> Parts:
    """Letters of the words of one fold to learn from, all others to test on.

    Every tenth word of the fold is left out of the training, to choose by.
    """
    data = datasets.load("letters")
    offsets = range(-n_neighbours, n_neighbours + 1)
    pixels = datasets.windows(data.X, offsets, groups=data.groups, fill=0).values
    u = torch.from_numpy(pixels.astype(np.float32))
    v = torch.from_numpy(np.asarray(data.Y, dtype=np.float32))
    own = data.splits[f"fold{fold}"]
    others = np.setdiff1d(np.arange(len(data)), own)
    assert data.groups is not None
    is_valid = data.groups[own] % 10 == 9
    rows = own[~is_valid], own[is_valid], others
    return Parts(*(Batch(u[chosen], v[chosen]) for chosen in rows))


def run_cell(cell: Cell) -> Outcome:
    """Train one model and measure its test error."""
    config = Config(**cell.config)
    if cell.dataset == "mnist":
        parts = load_digits()
    else:
        assert cell.fold is not None
        parts = load_letters(cell.fold, config.n_neighbours)
    generator = torch.Generator().manual_seed(cell.seed)
    model, losses = train(config, parts, generator)
    errors = {name: error(model, part) for name, part in parts._asdict().items()}
    details = {
        "valid": errors["valid"],
        "train": errors["train"],
        "loss": losses,
    }
    return Outcome({"accuracy": 100 - errors["test"], "error": errors["test"]}, details)


def train(
    config: Config, parts: Parts, generator: Generator
) -> tuple[CRBM, list[float]]:
    """A trained model and the loss of each epoch; the rate falls to zero."""
    assert parts.train.u is not None
    n_inputs, n_classes = parts.train.u.shape[1], parts.train.v.shape[1]
    model = CRBM(
        n_inputs,
        n_classes,
        config.n_hidden,
        generator,
        visible=Categorical(n_classes),
        init_scale=config.init_scale,
        connect_uv=not config.joint_weight,
    )
    if config.joint_weight:
        losses = hybrid.train(
            model,
            parts.train,
            weight=config.joint_weight,
            n_epochs=config.n_epochs,
            batch_size=config.batch_size,
            learning_rate=config.learning_rate,
            generator=generator,
        )
        return model, losses
    dropout = config.input_dropout
    history = training.fit(
        model,
        ExactLikelihood(),
        parts.train,
        n_epochs=config.n_epochs,
        batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        generator=generator,
        augment=partial(drop_inputs, share=dropout) if dropout else None,
        optimizer=torch.optim.Adam,
        hooks=[training.CosineSchedule()],
    )
    return model, history.loss


@torch.no_grad()
def probabilities(model: CRBM, u: Tensor) -> Tensor:
    """p(class | u)."""
    parts = u.split(ROWS_AT_ONCE)
    return torch.cat([exact.marginals(model.condition(part)).v for part in parts])


def error(model: CRBM, part: Batch) -> float:
    """Wrong classes in percent."""
    assert part.u is not None
    found = probabilities(model, part.u).argmax(1)
    return 100 * float((found != part.v.argmax(1)).double().mean())
