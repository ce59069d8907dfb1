"""From rows of a store to a table: means, spreads and what is significantly best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np
from scipy import stats

from paper.engine.store import Row
from paper.tables.published import Column

SIGNIFICANT = 0.05
SAME = 1e-9  # percentage points
Repeats = Callable[[Sequence[Row], str], list[float]]


@dataclass(frozen=True)
class Entry:
    """One figure of a table.

    Parameters
    ----------
    mean, spread
        Of the repeated measurements; the spread is their standard deviation.
    n_repeats
        Folds or seeds.
    repeats
        The measurements that are compared between models, pair by pair.
    p_value
        Of the comparison with the lowest mean of its column, which itself has none.
    """

    mean: float
    spread: float
    n_repeats: int
    repeats: tuple[float, ...]
    p_value: float | None = None

    @property
    def best(self) -> bool:
        """Whether this is the lowest of its column, or not significantly above it."""
        return self.p_value is None or self.p_value >= SIGNIFICANT


Summary = dict[str, dict[Column, Entry]]


def by_fold(rows: Sequence[Row], metric: str) -> list[float]:
    """One figure per fold, in the order of the folds."""
    ordered = sorted(rows, key=lambda row: (row["fold"], row["seed"]))
    return [row["metrics"][metric] for row in ordered]


def by_block(rows: Sequence[Row], metric: str) -> list[float]:
    """One figure per tenth of the test cases, averaged over the seeds."""
    blocks = [row["details"]["blocks"][metric] for row in rows]
    return [float(figure) for figure in np.mean(blocks, axis=0)]


def summarise(
    rows: Iterable[Row], columns: Sequence[Column], repeats: Repeats
) -> Summary:
    """The table of all models that have rows, in the order in which they come.

    In each column the lowest mean is best, and so is every other one that a two-sided
    paired t-test at 95 % does not tell from it, as in the paper.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["model"], row["dataset"]), []).append(row)
    summary: Summary = {model: {} for model, _ in groups}
    for column in columns:
        entries = {
            model: entry_of(group, column.metric, repeats)
            for (model, dataset), group in groups.items()
            if dataset == column.dataset
        }
        for model, entry in _compare(entries).items():
            summary[model][column] = entry
    return summary


def entry_of(rows: Sequence[Row], metric: str, repeats: Repeats) -> Entry:
    """The figure of a model on one data set, not yet compared with others."""
    figures = [row["metrics"][metric] for row in rows]
    spread = stdev(figures) if len(figures) > 1 else 0.0
    compared = repeats(rows, metric) if _has(rows, repeats) else []
    return Entry(fmean(figures), spread, len(figures), tuple(compared))


def _has(rows: Sequence[Row], repeats: Repeats) -> bool:
    return repeats is not by_block or all("blocks" in row["details"] for row in rows)


def _compare(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    lowest = min(entries.values(), key=lambda entry: entry.mean, default=None)
    return {
        model: entry
        if lowest is None or entry is lowest
        else replace(entry, p_value=p_value(entry.repeats, lowest.repeats))
        for model, entry in entries.items()
    }


def p_value(one: Sequence[float], other: Sequence[float]) -> float:
    """How likely chance makes such a gap or a larger one: a two-sided paired t-test.

    Measurements that cannot be paired have none: NaN.

    Examples
    --------
    >>> round(p_value([1.0, 2.0, 3.0], [1.1, 1.9, 3.0]), 2)
    1.0
    >>> p_value([1.0, 2.0, 3.0], [2.0, 3.01, 4.0]) < SIGNIFICANT
    True
    """
    if len(one) != len(other) or len(one) < 2:
        return math.nan
    gaps = np.subtract(one, other)
    if np.ptp(gaps) < SAME:  # no variance to test against
        return float(abs(gaps[0]) <= SAME)
    return float(stats.ttest_rel(one, other).pvalue)
