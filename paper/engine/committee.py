"""Tune and train a committee, whose members hold out different cases.

Each member stops early by the cases it holds out. Together the members hold out every
case once, so committees with different parameters are compared on all cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from crbm import datasets, metrics
from crbm.training.early_stopping import LEAST
from paper.engine.tuning import Cases, FoldData, Params, Schedule, TunedClassifier

N_FIRST_MEMBERS = 3  # trained for all parameters before the worse ones are dropped
MAX_LOSS_RATIO = 1.03  # to the lowest loss; parameters above it are dropped


class Committee:
    """Classifiers whose probabilities are averaged.

    Parameters
    ----------
    make_member
        Called with the parameters of training; returns an unfitted classifier.
    cases
        Training data of the committee.
    held_out
        Row numbers that each member holds out.
    schedule
        Maximal length of a member's training.
    """

    def __init__(
        self,
        make_member: Callable[..., Any],
        cases: Cases,
        held_out: Sequence[np.ndarray],
        schedule: Schedule,
    ) -> None:
        self.make_member, self.cases = make_member, cases
        self.held_out, self.schedule = held_out, schedule
        self.members: list[Any] = []
        self.probabilities = np.zeros(cases.Y.shape)

    def grow(self, n_members: int) -> None:
        """Train members until there are `n_members`."""
        for number in range(len(self.members), n_members):
            valid_rows = self.held_out[number]
            train_rows = np.delete(np.arange(len(self.cases.Y)), valid_rows)
            train, valid = (
                Cases(*(a[rows] for a in self.cases))
                for rows in (train_rows, valid_rows)
            )
            member = self.make_member(
                n_epochs=sum(self.schedule.rungs),
                patience=self.schedule.patience,
                early_stopping=True,
                stop_by=self.schedule.stop_by,
                random_state=number,
            )
            self.members.append(member.fit(*train, validation=valid))
            self.probabilities[valid_rows] = member.predict_proba(valid.X)

    @property
    def error(self) -> float:
        """Share of wrong labels among the cases that the members held out."""
        truth, probabilities = self._held_out_predictions
        return metrics.hamming_error(truth, probabilities > 0.5)

    @property
    def loss(self) -> float:
        """Loss on the cases that the members held out, by `schedule.stop_by`."""
        if self.schedule.stop_by == "error":
            return self.error
        return metrics.label_log_loss(*self._held_out_predictions, least=LEAST)

    @property
    def _held_out_predictions(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels and predicted probabilities of the cases held out so far."""
        rows = np.concatenate(self.held_out[: len(self.members)])
        return self.cases.Y[rows], self.probabilities[rows]

    def predict(self, X: Any) -> np.ndarray:
        """The labels whose mean probability exceeds one half."""
        p = np.mean([member.predict_proba(X) for member in self.members], axis=0)
        return (p > 0.5).astype(self.cases.Y.dtype)


class Contender(NamedTuple):
    """Parameters, and a committee that has them."""

    params: Params
    committee: Committee


def tune_committee(
    make_classifier: Callable[..., Any],
    grid: Sequence[Params],
    data: FoldData,
    schedule: Schedule,
    n_members: int,
    seed: int,
) -> TunedClassifier:
    """The committee with the lowest loss on the cases that its members hold out.

    After `N_FIRST_MEMBERS` members, parameters far behind the best are dropped.
    """
    cases = data.train_and_valid
    folds = datasets.folds(len(cases.Y), n_members, seed=seed, groups=data.groups)
    held_out = [fold.test for fold in folds]

    def contender(params: Params) -> Contender:
        def make_member(**training: Any) -> Any:
            return make_classifier(**params, **training)

        return Contender(params, Committee(make_member, cases, held_out, schedule))

    left = [contender(params) for params in grid]
    first = min(N_FIRST_MEMBERS, n_members)
    for size, max_ratio in ((first, MAX_LOSS_RATIO), (n_members, 1.0)):
        for each in left:
            each.committee.grow(size)
        lowest = min(each.committee.loss for each in left)
        left = [each for each in left if each.committee.loss <= max_ratio * lowest]
    best = left[0]
    return TunedClassifier(best.committee, best.params, best.committee.error)
