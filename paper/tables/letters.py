"""OCR letters of words: what a letter's neighbours say about it.

Learned on the words of one fold of ten, tested on the words of the other nine. Two
answers use the neighbours' classes: a second CRBM whose inputs are the probabilities of
the letters around (those of cases that the first one has not seen), and the words seen
in training as candidates V for the whole word.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from crbm import datasets
from crbm.types import Batch
from paper.engine.store import Cell, Outcome
from paper.tables import classes
from paper.tables.classes import Config, Parts

N_FOLDS = 5
FIRST = Config(
    n_hidden=300, n_epochs=20, batch_size=50, learning_rate=2e-3, input_dropout=0.3
)
SECOND = Config(
    n_hidden=100,
    n_epochs=15,
    batch_size=50,
    learning_rate=2e-3,
    input_dropout=0.3,
    n_neighbours=4,
)
MODELS: dict[str, dict[str, Any]] = {
    "CRBM, exact, stacked": {"first": FIRST.to_dict(), "second": SECOND.to_dict()},
    "CRBM, exact, words seen": {"first": FIRST.to_dict()},
}


def run_cell(cell: Cell) -> Outcome:
    """Train on one fold and measure the wrong letters of the others."""
    assert cell.fold is not None
    first = Config(**cell.config["first"])
    parts = classes.load_letters(cell.fold, 0)
    generator = torch.Generator().manual_seed(cell.seed)
    model, _ = classes.train(first, parts, generator)
    assert parts.test.u is not None
    assert parts.valid.u is not None
    own = {
        "valid": classes.probabilities(model, parts.valid.u),
        "test": classes.probabilities(model, parts.test.u),
    }
    if "second" in cell.config:
        second = Config(**cell.config["second"])
        own["train"] = _unseen(first, parts, generator)
        found = _stacked(second, cell.fold, parts, own, generator)
    else:
        found = _words(cell.fold, own)
    wrong = {
        name: 100 * float((p != getattr(parts, name).v.argmax(1)).double().mean())
        for name, p in found.items()
    }
    metrics = {"accuracy": 100 - wrong["test"], "error": wrong["test"]}
    return Outcome(metrics, {"valid": wrong["valid"]})


def _unseen(config: Config, parts: Parts, generator: Generator) -> Tensor:
    """Probabilities of training letters by models that have not seen their words."""
    assert parts.train.u is not None
    fold = torch.arange(len(parts.train.v)) * N_FOLDS // len(parts.train.v)
    found = torch.zeros_like(parts.train.v)
    for number in range(N_FOLDS):
        inside = (fold == number).nonzero().squeeze(1)
        outside = (fold != number).nonzero().squeeze(1)
        train = Parts(parts.train.select(outside), parts.valid, parts.test)
        model, _ = classes.train(config, train, generator)
        found[inside] = classes.probabilities(model, parts.train.u[inside])
    return found


def _stacked(
    config: Config,
    fold: int,
    parts: Parts,
    own: dict[str, Tensor],
    generator: Generator,
) -> dict[str, Tensor]:
    """Letters by a CRBM on pixels and on the probabilities of the letters around."""
    groups = word_of(fold)
    cases = {}
    for name, p in own.items():
        part = getattr(parts, name)
        offsets = range(-config.n_neighbours, config.n_neighbours + 1)
        around = datasets.windows(p.numpy(), offsets, groups=groups[name], fill=0)
        u = torch.cat([part.u, torch.from_numpy(around.values)], 1)
        cases[name] = Batch(u, part.v)
    model, _ = classes.train(
        replace(config, n_neighbours=0),
        Parts(cases["train"], cases["valid"], cases["test"]),
        generator,
    )
    inputs = {name: torch.as_tensor(cases[name].u) for name in ("valid", "test")}
    return {
        name: classes.probabilities(model, u).argmax(1) for name, u in inputs.items()
    }


def _words(fold: int, own: dict[str, Tensor]) -> dict[str, Tensor]:
    """Letters of the likeliest of the words seen in training that are as long."""
    data = datasets.load("letters")
    letters = torch.from_numpy(np.asarray(data.Y).argmax(1))
    groups = word_of(fold)
    rows = rows_of(fold)
    candidates: dict[int, set[tuple[int, ...]]] = {}
    for word in _split(groups["train"]):
        text = tuple(letters[rows["train"][word]].tolist())
        candidates.setdefault(len(text), set()).add(text)
    found = {}
    for name, p in own.items():
        answer = p.argmax(1)
        for word in _split(groups[name]):
            seen = sorted(candidates.get(len(word), ()))
            if seen:
                table = torch.tensor(seen)
                log_p = p[torch.from_numpy(word)].clamp(min=1e-6).log()
                scores = log_p.gather(1, table.T).sum(0)
                answer[torch.from_numpy(word)] = table[scores.argmax()]
        found[name] = answer
    return found


def rows_of(fold: int) -> dict[str, np.ndarray]:
    """The rows of the parts of `load_letters`."""
    data = datasets.load("letters")
    assert data.groups is not None
    own = data.splits[f"fold{fold}"]
    is_valid = data.groups[own] % 10 == 9
    others = np.setdiff1d(np.arange(len(data)), own)
    return {"train": own[~is_valid], "valid": own[is_valid], "test": others}


def word_of(fold: int) -> dict[str, np.ndarray]:
    """The word of each row of the parts."""
    groups = datasets.load("letters").groups
    assert groups is not None
    return {name: groups[rows] for name, rows in rows_of(fold).items()}


def _split(groups: np.ndarray) -> list[np.ndarray]:
    """The places of each word."""
    return np.split(np.arange(len(groups)), np.flatnonzero(np.diff(groups)) + 1)
