"""Successive halving: many settings for a little while, the better half for longer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

Contender = TypeVar("Contender")


def halving(
    contenders: Sequence[Contender],
    advance: Callable[[Contender, int], float],
    rungs: Sequence[int],
    *,
    keep: float = 0.5,
) -> Contender:
    """The contender that is left after all rungs.

    Parameters
    ----------
    contenders
        Settings with whatever they have learned so far.
    advance
        Trains a contender for so many more epochs; its validation error.
    rungs
        Epochs of each round, after which the worse ones leave.
    keep
        Share that goes on; after the last rung only the best one does.

    Examples
    --------
    >>> halving([3.0, 1.0, 2.0, 5.0], lambda rate, epochs: rate / epochs, (1, 2))
    1.0
    """
    left = list(contenders)
    for rung in rungs:
        errors = [advance(contender, rung) for contender in left]
        order = sorted(range(len(left)), key=lambda i: _rank(errors[i]))
        n_left = max(1, math.ceil(keep * len(left)))
        left = [left[i] for i in order[:n_left]]
    return left[0]


def _rank(error: float) -> float:
    return math.inf if math.isnan(error) else error
