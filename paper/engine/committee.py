"""A committee: members that learn from all rows but a part of their own each.

The part that a member leaves out tells it when to stop, and all parts together tell
which settings are best: so every row serves both ends, and the judgement is as sure as
all rows can make it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from crbm import datasets, metrics
from crbm.training.early_stopping import LEAST
from paper.engine.tuning import Part, Parts, Schedule, Settings, Tuned

N_FIRST = 3  # members of each committee before the worse ones are given up
CLOSE = 1.03  # times the lowest loss: committees that are completed


class Committee:
    """Classifiers whose probabilities are averaged.

    Parameters
    ----------
    new
        Makes a member, told how long to learn and from which seed.
    rows
        What they learn from.
    parts
        The places of the rows that each member leaves out.
    schedule
        How long a member learns at most.
    """

    def __init__(
        self,
        new: Callable[..., Any],
        rows: Part,
        parts: Sequence[np.ndarray],
        schedule: Schedule,
    ) -> None:
        self.new, self.rows, self.parts, self.schedule = new, rows, parts, schedule
        self.members: list[Any] = []
        self.chances = np.zeros(rows.Y.shape)

    def grow(self, n_members: int) -> None:
        """Train members until there are so many."""
        for place in range(len(self.members), n_members):
            left_out = self.parts[place]
            kept = np.delete(np.arange(len(self.rows.Y)), left_out)
            train, held_out = (
                Part(*(a[i] for a in self.rows)) for i in (kept, left_out)
            )
            member = self.new(
                n_epochs=sum(self.schedule.rungs),
                patience=self.schedule.patience,
                early_stopping=True,
                stop_by=self.schedule.stop_by,
                random_state=place,
            )
            self.members.append(member.fit(*train, validation=held_out))
            self.chances[left_out] = member.predict_proba(held_out.X)

    @property
    def error(self) -> float:
        """The share of wrong labels where each member left rows out."""
        truth, chances = self._judged
        return metrics.hamming_error(truth, chances > 0.5)

    @property
    def loss(self) -> float:
        """What committees are compared by, on the same rows: their `stop_by`."""
        if self.schedule.stop_by == "error":
            return self.error
        return metrics.label_log_loss(*self._judged, least=LEAST)

    @property
    def _judged(self) -> tuple[np.ndarray, np.ndarray]:
        """The labels of rows that were left out, and what the member said of them."""
        places = np.concatenate(self.parts[: len(self.members)])
        return self.rows.Y[places], self.chances[places]

    def predict(self, X: Any) -> np.ndarray:
        """The labels that the members together think more likely than not."""
        p = np.mean([member.predict_proba(X) for member in self.members], axis=0)
        return (p > 0.5).astype(self.rows.Y.dtype)


class Applicant(NamedTuple):
    """Settings, and the committee that has them."""

    settings: Settings
    committee: Committee


def by_committee(
    new: Callable[..., Any],
    settings: Sequence[Settings],
    parts: Parts,
    schedule: Schedule,
    n_members: int,
    seed: int,
) -> Tuned:
    """The committee that loses least on the rows its members left out.

    After a few members those far behind the best are given up.
    """
    rows = parts.learned
    folds = datasets.folds(len(rows.Y), n_members, seed=seed, groups=parts.groups)
    left_out = [fold.test for fold in folds]

    def applicant(each: Settings) -> Applicant:
        def member(**training: Any) -> Any:
            return new(**each, **training)

        return Applicant(each, Committee(member, rows, left_out, schedule))

    left = [applicant(each) for each in settings]
    for size, limit in ((min(N_FIRST, n_members), CLOSE), (n_members, 1.0)):
        for each in left:
            each.committee.grow(size)
        lowest = min(each.committee.loss for each in left)
        left = [each for each in left if each.committee.loss <= limit * lowest]
    best = left[0]
    return Tuned(best.committee, best.settings, best.committee.error)
