"""Tune an opponent on the training cases, fit it to all of them, and answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from crbm import metrics
from paper.engine.climbing import Axis, Found, Params, climb
from paper.engine.judging import LEAST, Forecast
from paper.peers.readout import LabelReadout, SetReadout
from paper.tables.problems import Problem

HELD_OUT = 0.2  # share of the training cases that parameters are chosen on


class Scorer(Protocol):
    """A classifier that scores each label, or each label set of its `table`."""

    def fit(self, X: np.ndarray, Y: np.ndarray) -> Scorer:
        """Learn from cases."""
        ...

    def scores(self, X: np.ndarray) -> np.ndarray:
        """One score per case and label, or per case and label set."""
        ...


@dataclass(frozen=True)
class Peer:
    """An opponent and how it is tuned.

    Parameters
    ----------
    make
        Returns an unfitted scorer with the given parameters.
    axes
        The parameters to choose.
    loss
        What they are chosen by on held-out training cases: "log_loss", "hamming" or
        "subset".
    tuning
        Parameters that make a fit cheaper while tuning, such as fewer trees.
    n_tuning_labels
        Parameters of models with one part per label are chosen on so many labels.
    package
        The package that it needs, and that is not part of the installation.
    max_labels
        The opponent is not run on data with more labels, because it would take hours.
    """

    make: Callable[..., Any]
    axes: Mapping[str, Axis]
    loss: str = "log_loss"
    tuning: Mapping[str, Any] = field(default_factory=dict)
    n_tuning_labels: int = 20
    package: str = ""
    max_labels: int = 10**6

    @property
    def missing(self) -> str:
        """Why it cannot be run here; empty if it can."""
        if not self.package or find_spec(self.package.partition(" ")[0]):
            return ""
        return f"needs {self.package.rpartition(' ')[2]}"

    def summary(self) -> dict[str, Any]:
        """What the outcome depends on, as JSON."""
        axes = {name: list(axis.values) for name, axis in self.axes.items()}
        return {"axes": axes, "loss": self.loss, "tuning": dict(self.tuning)}

    def forecast(self, problem: Problem, seed: int) -> Forecast:
        """Choose the parameters, fit to all training cases, answer for the test."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other libraries' notes on convergence
            return self._forecast(problem, seed)

    def _forecast(self, problem: Problem, seed: int) -> Forecast:
        own, held = split(problem, seed)
        found = self._tune(own, held)
        scorer = self.make(**found.params).fit(*own)
        readout = make_readout(scorer, own.Y).fit(scorer.scores(held.X), held.Y)
        final = self.make(**found.params).fit(problem.X_train, problem.Y_train)
        scores = final.scores(problem.X_test)
        if isinstance(readout, SetReadout):
            readout = replace_table(readout, final.table)
        return readout.forecast(
            scores,
            problem.Y_test,
            chosen=found.params,
            n_tried=found.n_tried,
            edges=found.edges,
        )

    def _tune(self, own: Cases, held: Cases) -> Found:
        labels = spread_labels(own.Y, self.n_tuning_labels)
        if self.loss == "subset":
            labels = np.arange(own.Y.shape[1])

        def loss(params: Params) -> float:
            scorer = self.make(**{**params, **self.tuning}).fit(own.X, own.Y[:, labels])
            scores, truth = scorer.scores(held.X), held.Y[:, labels]
            if self.loss == "subset":
                best = scorer.table[scores.argmax(1)]
                return 1 - metrics.subset_accuracy(truth, best)
            if self.loss == "hamming":
                return metrics.hamming_error(truth, scores > 0)
            readout = make_readout(scorer, own.Y[:, labels]).calibrate(scores, truth)
            p = readout.probabilities(scores)
            return metrics.label_log_loss(truth, p, least=LEAST)

        return climb(loss, self.axes)


class Cases(NamedTuple):
    """Inputs and labels of some cases."""

    X: np.ndarray
    Y: np.ndarray


def split(problem: Problem, seed: int) -> tuple[Cases, Cases]:
    """Training cases to learn from, and others to choose parameters on."""
    kind = ShuffleSplit if problem.groups is None else GroupShuffleSplit
    splitter = kind(1, test_size=HELD_OUT, random_state=seed)
    [(own, held)] = splitter.split(problem.X_train, groups=problem.groups)
    X, Y = problem.X_train, problem.Y_train
    return Cases(X[own], Y[own]), Cases(X[held], Y[held])


def spread_labels(Y: np.ndarray, n_labels: int) -> np.ndarray:
    """At most so many labels, evenly spread from the rarest to the most frequent.

    Examples
    --------
    >>> spread_labels(np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]]), 2)
    array([0, 1])
    """
    order = np.argsort(Y.sum(0), kind="stable")
    places = np.linspace(0, len(order) - 1, min(n_labels, len(order))).round()
    return np.sort(order[places.astype(int)])


def make_readout(scorer: Any, Y: np.ndarray) -> Any:
    """The readout that suits the scores, with the base rates of the labels."""
    rates = (Y.sum(0) + 1) / (len(Y) + 2)
    base = np.log(rates) - np.log1p(-rates)
    if hasattr(scorer, "table"):
        return SetReadout(base, scorer.table)
    return LabelReadout(base, np.unique(Y, axis=0))


def replace_table(readout: SetReadout, table: np.ndarray) -> SetReadout:
    """The readout for a model that was fitted to more cases, so more label sets."""
    changed = replace(readout, table=table)
    for name in ("scale", "share", "thresholds", "rule"):
        setattr(changed, name, getattr(readout, name))
    return changed
