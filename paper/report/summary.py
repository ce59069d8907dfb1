"""Summarise the rows of a store: means, standard deviations and paired t-tests."""

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
NO_VARIANCE = 1e-9  # percentage points
Repeats = Callable[[Sequence[Row], str], list[float]]


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    Parameters
    ----------
    mean, spread
        Mean and standard deviation over folds or seeds.
    n_repeats
        Number of folds or seeds.
    repeats
        The measurements for paired comparisons between models.
    p_value
        Of the comparison with the lowest mean of the column; None for the lowest.
    """

    mean: float
    spread: float
    n_repeats: int
    repeats: tuple[float, ...]
    p_value: float | None = None

    @property
    def best(self) -> bool:
        """Whether this is the lowest of the column, or not significantly above it."""
        return self.p_value is None or self.p_value >= SIGNIFICANT


Summary = dict[str, dict[Column, Entry]]


def by_fold(rows: Sequence[Row], metric: str) -> list[float]:
    """One measurement per fold, in the order of the folds."""
    ordered = sorted(rows, key=lambda row: (row["fold"], row["seed"]))
    return [row["metrics"][metric] for row in ordered]


def by_block(rows: Sequence[Row], metric: str) -> list[float]:
    """One measurement per tenth of the test cases, averaged over the seeds."""
    blocks = [row["details"]["blocks"][metric] for row in rows]
    return [float(mean) for mean in np.mean(blocks, axis=0)]


def summarise(
    rows: Iterable[Row], columns: Sequence[Column], repeats: Repeats
) -> Summary:
    """The table of all models that have rows, in the order of the rows.

    As in the paper, the best of a column are the lowest mean and all means that a
    two-sided paired t-test at 95 % does not find different from it.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["model"], row["dataset"]), []).append(row)
    summary: Summary = {model: {} for model, _ in groups}
    for column in columns:
        entries = {
            model: summarise_runs(group, column.metric, repeats)
            for (model, dataset), group in groups.items()
            if dataset == column.dataset
        }
        for model, entry in _compare(entries).items():
            summary[model][column] = entry
    return summary


def summarise_runs(rows: Sequence[Row], metric: str, repeats: Repeats) -> Entry:
    """The entry of one model on one data set, without a comparison."""
    values = [row["metrics"][metric] for row in rows]
    spread = stdev(values) if len(values) > 1 else 0.0
    comparable = repeats(rows, metric) if _has_repeats(rows, repeats) else []
    return Entry(fmean(values), spread, len(values), tuple(comparable))


def _has_repeats(rows: Sequence[Row], repeats: Repeats) -> bool:
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
    """The p-value of a two-sided paired t-test; NaN if there are no pairs.

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
    if np.ptp(gaps) < NO_VARIANCE:  # the t-test would divide by zero
        return float(abs(gaps[0]) <= NO_VARIANCE)
    return float(stats.ttest_rel(one, other).pvalue)
