"""Successive halving: train many parameters briefly and the better ones for longer."""

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
        Parameters, together with their state of training.
    advance
        Trains a contender for a number of further epochs; returns its validation
        error.
    rungs
        Epochs of each round. The worse contenders are dropped after each.
    keep
        Share of the contenders to keep. The best after the last rung is returned.

    Examples
    --------
    >>> halving([3.0, 1.0, 2.0, 5.0], lambda rate, epochs: rate / epochs, (1, 2))
    1.0
    """
    left = list(contenders)
    for rung in rungs:
        errors = [advance(contender, rung) for contender in left]
        order = sorted(range(len(left)), key=lambda i: _nan_last(errors[i]))
        n_left = max(1, math.ceil(keep * len(left)))
        left = [left[i] for i in order[:n_left]]
    return left[0]


def _nan_last(error: float) -> float:
    return math.inf if math.isnan(error) else error
