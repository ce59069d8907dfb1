"""Choose the parameters of a classifier by its error on the validation cases."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from crbm import metrics
from crbm.training.early_stopping import LEAST
from paper.engine.halving import halving

Params = dict[str, Any]
Values = Mapping[str, Sequence[Any]]
Grid = Values | Sequence[Values]


class Cases(NamedTuple):
    """Inputs and outputs of some cases."""

    X: Any
    Y: np.ndarray


class FoldData(NamedTuple):
    """The cases of one fold, with inputs scaled by the training cases.

    Parameters
    ----------
    train, valid, test
        The three parts.
    groups
        The group of each case of `train_and_valid`, if the data set has groups.
    """

    train: Cases
    valid: Cases
    test: Cases
    groups: np.ndarray | None = None

    @property
    def train_and_valid(self) -> Cases:
        """The training cases followed by the validation cases."""
        pairs = zip(self.train, self.valid, strict=True)
        return Cases(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True)
class Schedule:
    """How long contenders are trained.

    Parameters
    ----------
    rungs
        Epochs of each round of successive halving among contenders with the same
        learning rate; the last round is a complete training.
    keep
        Share of the contenders kept after each round.
    patience
        Epochs without a lower validation loss before a round ends.
    stop_by
        The validation loss, which also compares contenders: "error" or "log_loss".
    """

    rungs: tuple[int, ...] = (5, 20, 100)
    keep: float = 1 / 4
    patience: int = 10
    stop_by: str = "error"


class TunedClassifier(NamedTuple):
    """A fitted classifier, its parameters and its validation error."""

    classifier: Any
    params: Params
    error: float


@dataclass
class Contender:
    """Parameters, the classifier being trained, and its best state so far."""

    params: Params
    classifier: Any
    seed: int
    best: Any = None
    loss: float = math.inf
    n_rounds: int = field(default=0)

    def advance(self, data: FoldData, n_epochs: int, schedule: Schedule) -> float:
        """Train for more epochs; returns the lowest validation loss so far."""
        # A new seed for each round; otherwise all rounds would shuffle alike.
        self.classifier.set_params(
            n_epochs=n_epochs,
            patience=schedule.patience,
            early_stopping=True,
            stop_by=schedule.stop_by,
            warm_start=True,
            random_state=self.seed + 1000 * self.n_rounds,
        )
        self.n_rounds += 1
        self.classifier.fit(*data.train, validation=data.valid)
        loss = loss_on(data.valid, self.classifier, schedule.stop_by)
        if loss < self.loss:
            self.loss, self.best = loss, copy.deepcopy(self.classifier)
        return self.loss


def expand(grid: Grid) -> list[Params]:
    """All combinations of the values of a grid, or of several grids in turn.

    Examples
    --------
    >>> expand({"a": (1, 2), "b": (3,)})
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    >>> expand([{"a": (1, 2)}, {"b": (3,)}])
    [{'a': 1}, {'a': 2}, {'b': 3}]
    """
    grids = [grid] if isinstance(grid, Mapping) else grid
    return [
        dict(zip(values, combination, strict=True))
        for values in grids
        for combination in product(*values.values())
    ]


def tune_by_halving(
    make_classifier: Callable[..., Any],
    grid: Sequence[Params],
    data: FoldData,
    schedule: Schedule,
    seed: int,
) -> TunedClassifier:
    """Choose the parameters by successive halving, with early stopping.

    Only parameters with the same learning rate compete, because large rates are ahead
    in the first epochs even if they end worse. The winners are then compared.
    """

    def advance(contender: Contender, n_epochs: int) -> float:
        return contender.advance(data, n_epochs, schedule)

    winners = []
    for rate in dict.fromkeys(params["learning_rate"] for params in grid):
        contenders = [
            Contender(params, make_classifier(**params), seed)
            for params in grid
            if params["learning_rate"] == rate
        ]
        winners.append(halving(contenders, advance, schedule.rungs, keep=schedule.keep))
    best = min(winners, key=lambda winner: winner.loss)
    return TunedClassifier(best.best, best.params, error_on(data.valid, best.best))


def tune_by_grid(
    make_classifier: Callable[..., Any], grid: Sequence[Params], data: FoldData
) -> TunedClassifier:
    """Fit a classifier with each combination of parameters; returns the best."""
    results = []
    for params in grid:
        classifier = make_classifier(**params).fit(*data.train)
        error = error_on(data.valid, classifier)
        results.append(TunedClassifier(classifier, params, error))
    return min(results, key=lambda result: result.error)


def refit(
    tuned: TunedClassifier, make_classifier: Callable[..., Any], data: FoldData
) -> TunedClassifier:
    """Fit a classifier with the same parameters to training and validation cases."""
    classifier = make_classifier(**tuned.params).fit(*data.train_and_valid)
    return tuned._replace(classifier=classifier)


def choose_readout(
    tuned: TunedClassifier, grid: Sequence[Params], data: FoldData, stop_by: str
) -> TunedClassifier:
    """Choose the parameters of prediction for a fitted classifier."""
    variants = [
        (copy.deepcopy(tuned.classifier).set_params(**params), params)
        for params in grid
    ]
    losses = [loss_on(data.valid, classifier, stop_by) for classifier, _ in variants]
    classifier, params = variants[int(np.argmin(losses))]
    error = error_on(data.valid, classifier)
    return TunedClassifier(classifier, {**tuned.params, **params}, error)


def error_on(cases: Cases, classifier: Any) -> float:
    """Share of wrong labels."""
    return metrics.hamming_error(cases.Y, classifier.predict(cases.X))


def loss_on(cases: Cases, classifier: Any, stop_by: str) -> float:
    """Validation loss by which training stops and classifiers are compared."""
    if stop_by == "error":
        return error_on(cases, classifier)
    p = classifier.predict_proba(cases.X)
    return metrics.label_log_loss(cases.Y, p, least=LEAST)
