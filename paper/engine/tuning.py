"""Choosing a classifier's settings on validation rows."""

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

Settings = dict[str, Any]
Values = Mapping[str, Sequence[Any]]
Grid = Values | Sequence[Values]


class Part(NamedTuple):
    """Rows of a data set."""

    X: Any
    Y: np.ndarray


class Parts(NamedTuple):
    """A fold with its inputs scaled as the training rows say.

    Parameters
    ----------
    train, valid, test
        Its rows.
    groups
        Which rows of `learned` belong together, if any do.
    """

    train: Part
    valid: Part
    test: Part
    groups: np.ndarray | None = None

    @property
    def learned(self) -> Part:
        """All rows that may be learned from: those of training, then of validation."""
        pairs = zip(self.train, self.valid, strict=True)
        return Part(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True)
class Schedule:
    """How long settings are tried.

    Parameters
    ----------
    rungs
        Epochs of each round of successive halving among settings of one learning rate;
        the last is a whole training.
    keep
        Share of the settings that goes on after a rung.
    patience
        Epochs of a round without a lower loss on validation before it ends.
    stop_by
        What that loss is, which settings are compared by too: as in the classifiers.
    """

    rungs: tuple[int, ...] = (5, 20, 100)
    keep: float = 1 / 4
    patience: int = 10
    stop_by: str = "error"


class Tuned(NamedTuple):
    """A fitted classifier, its settings and its wrong labels on the validation rows."""

    classifier: Any
    settings: Settings
    error: float


@dataclass
class Contender:
    """Settings, the classifier as far as it is trained, and its best state so far."""

    settings: Settings
    classifier: Any
    seed: int
    best: Any = None
    loss: float = math.inf
    n_rounds: int = field(default=0)

    def advance(self, parts: Parts, n_epochs: int, schedule: Schedule) -> float:
        """Train for more epochs; the lowest loss on validation so far."""
        # another seed each time, or every round would shuffle the rows alike
        self.classifier.set_params(
            n_epochs=n_epochs,
            patience=schedule.patience,
            early_stopping=True,
            stop_by=schedule.stop_by,
            warm_start=True,
            random_state=self.seed + 1000 * self.n_rounds,
        )
        self.n_rounds += 1
        self.classifier.fit(*parts.train, validation=parts.valid)
        loss = loss_on(parts.valid, self.classifier, schedule.stop_by)
        if loss < self.loss:
            self.loss, self.best = loss, copy.deepcopy(self.classifier)
        return self.loss


def grid(values: Grid) -> list[Settings]:
    """All combinations, the first of each value first; of several grids in turn.

    Examples
    --------
    >>> grid({"a": (1, 2), "b": (3,)})
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    >>> grid([{"a": (1, 2)}, {"b": (3,)}])
    [{'a': 1}, {'a': 2}, {'b': 3}]
    """
    grids = [values] if isinstance(values, Mapping) else values
    return [
        dict(zip(each, chosen, strict=True))
        for each in grids
        for chosen in product(*each.values())
    ]


def by_halving(
    new: Callable[..., Any],
    settings: Sequence[Settings],
    parts: Parts,
    schedule: Schedule,
    seed: int,
) -> Tuned:
    """The best settings by successive halving, trained until the loss rises.

    Settings compete with those of the same learning rate, as a larger one is ahead
    after the first epochs whatever it ends with; the winners are then compared.
    """

    def advance(contender: Contender, n_epochs: int) -> float:
        return contender.advance(parts, n_epochs, schedule)

    winners = []
    for rate in dict.fromkeys(each["learning_rate"] for each in settings):
        contenders = [
            Contender(each, new(**each), seed)
            for each in settings
            if each["learning_rate"] == rate
        ]
        winners.append(halving(contenders, advance, schedule.rungs, keep=schedule.keep))
    best = min(winners, key=lambda winner: winner.loss)
    return Tuned(best.best, best.settings, error_on(parts.valid, best.best))


def by_trying(
    new: Callable[..., Any], settings: Sequence[Settings], parts: Parts
) -> Tuned:
    """The best settings of a classifier that is trained in one go."""
    tried = []
    for each in settings:
        classifier = new(**each).fit(*parts.train)
        tried.append(Tuned(classifier, each, error_on(parts.valid, classifier)))
    return min(tried, key=lambda found: found.error)


def refit(found: Tuned, new: Callable[..., Any], parts: Parts) -> Tuned:
    """The same settings, fitted to the validation rows too."""
    return found._replace(classifier=new(**found.settings).fit(*parts.learned))


def choose_readout(
    found: Tuned, options: Sequence[Settings], parts: Parts, stop_by: str
) -> Tuned:
    """The same classifier with the settings of prediction that lose least."""
    tried = [
        (copy.deepcopy(found.classifier).set_params(**each), each) for each in options
    ]
    losses = [loss_on(parts.valid, classifier, stop_by) for classifier, _ in tried]
    classifier, chosen = tried[int(np.argmin(losses))]
    error = error_on(parts.valid, classifier)
    return Tuned(classifier, {**found.settings, **chosen}, error)


def error_on(part: Part, classifier: Any) -> float:
    """The share of wrong labels."""
    return metrics.hamming_error(part.Y, classifier.predict(part.X))


def loss_on(part: Part, classifier: Any, stop_by: str) -> float:
    """What classifiers are stopped and compared by: their `stop_by`."""
    if stop_by == "error":
        return error_on(part, classifier)
    p = classifier.predict_proba(part.X)
    return metrics.label_log_loss(part.Y, p, least=LEAST)
