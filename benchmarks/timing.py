"""Two pieces of work timed in turns, so that the machine's mood hits both."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple


class Compared(NamedTuple):
    """Median seconds of both, and the median of their ratio."""

    one: float
    other: float
    ratio: float


def time_in_turns(
    one: Callable[[], object],
    other: Callable[[], object],
    *,
    n_rounds: int,
    clock: Callable[[], float] = time.process_time,
) -> Compared:
    """Both after a first run each; every ratio is of two neighbours in time."""

    def seconds(work: Callable[[], object]) -> float:
        began = clock()
        work()
        return clock() - began

    for work in (one, other):
        work()
    pairs = [(seconds(one), seconds(other)) for _ in range(n_rounds)]
    return Compared(
        median(a for a, _ in pairs),
        median(b for _, b in pairs),
        median(a / b for a, b in pairs),
    )
