"""Time two functions alternately, so that varying load affects both alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple


class Times(NamedTuple):
    """Median seconds of both functions, and the median of their ratios."""

    one: float
    other: float
    ratio: float


def time_in_turns(
    one: Callable[[], object],
    other: Callable[[], object],
    *,
    n_rounds: int,
    clock: Callable[[], float] = time.process_time,
) -> Times:
    """Time both functions after one warm-up call; ratios are of consecutive calls."""

    def seconds(work: Callable[[], object]) -> float:
        start = clock()
        work()
        return clock() - start

    for work in (one, other):
        work()
    pairs = [(seconds(one), seconds(other)) for _ in range(n_rounds)]
    return Times(
        median(a for a, _ in pairs),
        median(b for _, b in pairs),
        median(a / b for a, b in pairs),
    )
