"""The data of the suite and of the successors' tables: training and test cases."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from crbm import datasets

N_FOLDS = 10
SYNTHETIC = "spen-synthetic"


class Problem(NamedTuple):
    """Inputs and labels to learn from and to be judged on; groups of the former."""

    X_train: np.ndarray
    Y_train: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray
    groups: np.ndarray | None = None

    def limited(self, n_train: int, n_test: int, seed: int) -> Problem:
        """At most so many cases of each part, drawn at random."""
        rng = np.random.default_rng(seed)
        train = _draw(len(self.Y_train), n_train, rng)
        test = _draw(len(self.Y_test), n_test, rng)
        return Problem(
            self.X_train[train],
            self.Y_train[train],
            self.X_test[test],
            self.Y_test[test],
            None if self.groups is None else self.groups[train],
        )


def _draw(n_cases: int, limit: int, rng: np.random.Generator) -> np.ndarray:
    if n_cases <= limit:
        return np.arange(n_cases)
    return np.sort(rng.choice(n_cases, limit, replace=False))


def fold(name: str, number: int) -> Problem:
    """Fold `number` of ten: the test tenth, and all others to learn from.

    The folds are those of Table 1; training and validation cases are both to learn
    from. The synthetic task has a new draw for each number instead.
    """
    if name == SYNTHETIC:
        return synthetic(number)
    data = _load(name)
    rows = datasets.folds(data, N_FOLDS, seed=0)[number]
    train = np.sort(np.concatenate([rows.train, rows.valid]))
    return _problem(data, train, rows.test)


def official(name: str) -> Problem:
    """The split that the publishers of the data made."""
    data = _load(name)
    if not data.splits:
        raise ValueError(
            f"`{name}` has no official split here. Put its train and test files into "
            "the data folder; see `crbm data list`."
        )
    return _problem(data, data.splits["train"], data.splits["test"])


def tuned_apart(name: str, number: int) -> Problem:
    """Fold `number` of ten on nine tenths of the cases; the rest is not used.

    As in DELA, which chooses parameters on the tenth that is left out.
    """
    data = _load(name)
    order = np.random.default_rng(0).permutation(len(data))[len(data) // 10 :]
    parts = datasets.folds(len(order), N_FOLDS, seed=0)[number]
    train = np.sort(order[np.concatenate([parts.train, parts.valid])])
    return _problem(data, train, np.sort(order[parts.test]))


def synthetic(seed: int, n_train: int = 1500, n_test: int = 1500) -> Problem:
    """SPEN's task: in each of four blocks of labels, the one with the highest score.

    Inputs are 64 independent normal numbers; the scores are a random linear function
    of them, the same for all cases of one seed.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_train + n_test, 64))
    scores = (X @ rng.normal(size=(64, 16))).reshape(-1, 4, 4)
    Y = np.eye(4, dtype=np.uint8)[scores.argmax(-1)].reshape(-1, 16)
    X = X.astype(np.float32)
    return Problem(X[:n_train], Y[:n_train], X[n_train:], Y[n_train:])


@lru_cache(maxsize=2)
def _load(name: str) -> datasets.Dataset:
    return datasets.load(name, progress=False)


def _problem(data: datasets.Dataset, train: Any, test: Any) -> Problem:
    X_train, X_test = (_dense(data.X[rows]) for rows in (train, test))
    Y_train, Y_test = (np.asarray(data.Y[rows], np.uint8) for rows in (train, test))
    groups = None if data.groups is None else data.groups[train]
    return Problem(X_train, Y_train, X_test, Y_test, groups)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float32)
