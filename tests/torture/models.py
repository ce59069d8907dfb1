"""Damage model files and checkpoints, with and without a digest that fits again."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import crbm
from crbm import objectives, persistence, training
from planted import copied_patterns
from torture.mutations import mutate, mutate_description, mutate_tensors
from torture.tally import LostError, Tally, until

DATA = copied_patterns(40)
X, Y = DATA.u.numpy(), DATA.v.numpy()
QUICK = {"n_epochs": 2, "random_state": 0}
FRAME = pd.DataFrame({"age": [30.0, None, 50, 60] * 10, "plan": ["a", "b"] * 20})
IMAGES = [np.outer(X[:8, 0], X[:9, 1]), np.outer(X[:7, 2], X[:7, 3])]
MASKS = [(image > 0).astype(int) for image in IMAGES]


def probabilities(classifier: Any, inputs: Any) -> list[np.ndarray]:
    """What a classifier of rows predicts, after a check that it may."""
    p = classifier.predict_proba(inputs)
    assert ((p >= 0) & (p <= 1)).all(), "probabilities are wrong"
    assert np.isin(classifier.predict(inputs), (0, 1)).all(), "labels are wrong"
    return [p]


def pixels(classifier: Any, images: Any) -> list[np.ndarray]:
    """The same for a classifier of pixels."""
    found = classifier.predict_proba(images)
    assert all(((p >= 0) & (p <= 1)).all() for p in found), "probabilities are wrong"
    assert (classifier.score_samples(images) <= 0).all(), "log p is positive"
    return found


def regression(regressor: Any, inputs: Any) -> list[np.ndarray]:
    """The same for a regressor."""
    found = list(regressor.predict(inputs, return_cov=True))
    assert all(np.isfinite(part).all() for part in found), "not finite"
    return found


# How to make a model, its inputs and outputs, and what to ask of it.
Kind = tuple[Callable[[], Any], Any, Any, Callable[[Any, Any], list[np.ndarray]]]
KINDS: dict[str, Kind] = {
    "logistic": (
        lambda: crbm.LogisticClassifier(**QUICK, preprocessing="standardise"),
        *(X, Y, probabilities),
    ),
    "crf": (
        lambda: crbm.CRFClassifier(**QUICK, thresholds="macro_f1"),
        *(X, Y, probabilities),
    ),
    "crbm": (
        lambda: crbm.CRBMClassifier(
            **QUICK, n_hidden=3, preprocessing="kernel", kernel_features=4
        ),
        *(X, Y, probabilities),
    ),
    "hash": (
        lambda: crbm.HashCRBMClassifier(
            **QUICK, n_hidden=3, n_estimators=2, preprocessing="rank"
        ),
        *(X, Y, probabilities),
    ),
    "table": (
        lambda: crbm.LogisticClassifier(**QUICK),
        *(FRAME, Y, probabilities),
    ),
    "auto": (
        lambda: crbm.AutoClassifier(
            members=["forest", "logistic, linear"], n_folds=2, random_state=0
        ),
        *(X, Y, probabilities),
    ),
    "regressor": (
        lambda: crbm.CRBMRegressor(**QUICK, n_hidden=2),
        *(X, np.sign(Y[:, :2] + X[:, :2] - 1), regression),
    ),
    "pixels": (
        lambda: crbm.PixelClassifier(**QUICK, channels=(2, 4), n_hidden=2),
        *(IMAGES, MASKS, pixels),
    ),
}


def run_models(
    kind: str, folder: Path, rng: random.Random, seconds: float, most: int | None = None
) -> Tally:
    """Load damaged copies of a model file, and predict with those that load."""
    make, inputs, outputs, ask = KINDS[kind]
    tally, file = Tally(f"model {kind}"), folder / f"{kind}.safetensors"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = make().fit(inputs, outputs)
    fitted.save(file)
    expected = ask(fitted, inputs)

    def attempt(path: Path, *, same: bool) -> None:
        found = ask(crbm.load(path), inputs)
        if same and not all(map(np.array_equal, found, expected)):
            raise LostError("a damaged file loads and predicts something else")

    _attack(tally, file, rng, until(seconds, most), attempt)
    return tally


def run_checkpoints(
    folder: Path, rng: random.Random, seconds: float, most: int | None = None
) -> Tally:
    """Resume from damaged copies of a checkpoint."""
    tally, file = Tally("checkpoint"), folder / "kept.safetensors"
    _train(file, n_epochs=2)
    expected = _train(None, n_epochs=3)

    def attempt(path: Path, *, same: bool) -> None:
        found = _train(path, n_epochs=3)
        for name, weight in found.items():
            assert torch.isfinite(weight).all(), f"{name} is not finite"
            if same and not torch.equal(weight, expected[name]):
                raise LostError("a damaged checkpoint ends in other weights")

    _attack(tally, file, rng, until(seconds, most), attempt)
    return tally


def _attack(
    tally: Tally, file: Path, rng: random.Random, numbers: Any, attempt: Any
) -> None:
    """Damage the bytes of a file, or its contents and then renew the digest."""
    content, (tensors, described) = file.read_bytes(), persistence.read(file)
    damaged = file.with_name("damaged.safetensors")
    for number in numbers:
        for left in file.parent.glob("damaged*"):
            left.unlink()
        raw = number % 2 == 0
        if raw:
            damaged.write_bytes(mutate(content, rng))
        elif rng.random() < 0.6:
            persistence.write(damaged, tensors, mutate_description(described, rng))
        else:
            persistence.write(damaged, mutate_tensors(tensors, rng), described)
        what = f"{file.stem} {number}, {'bytes' if raw else 'contents'}"
        # what loads may overflow in scikit-learn, whose messages have several lines
        tally.attempt(
            what, lambda same=raw: attempt(damaged, same=same), one_line=False
        )


def _train(checkpoint: Path | None, n_epochs: int) -> dict[str, torch.Tensor]:
    """The weights after some epochs, resumed where there is a checkpoint."""
    model = crbm.CRBM(4, 6, 3, torch.Generator().manual_seed(1))
    hooks = []
    if checkpoint is not None:
        hooks.append(training.Checkpoint(checkpoint, resume=True))
    training.fit(
        model,
        objectives.Perceptron(),
        DATA,
        n_epochs=n_epochs,
        batch_size=20,
        learning_rate=0.01,
        optimizer=torch.optim.Adam,
        generator=torch.Generator().manual_seed(0),
        hooks=hooks,
    )
    return {name: weight.detach() for name, weight in model.state_dict().items()}
