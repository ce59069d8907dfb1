"""Mean ranks over data sets, Friedman's test, and Nemenyi's critical difference.

As recommended for comparing classifiers over data sets by J. Demsar, "Statistical
Comparisons of Classifiers over Multiple Data Sets", JMLR 7, 2006.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import NamedTuple

import numpy as np
from scipy import stats

from paper.engine.judging import LOWER
from paper.engine.store import Row

SIGNIFICANT = 0.05
# The measures that ranks are reported for.
MEASURES = (
    *("hamming", "subset", "example_f1", "jaccard", "micro_f1", "macro_f1"),
    *("average_precision", "ranking_loss", "precision_at_3"),
    *("log_loss", "nll", "calibration"),
)


class Ranking(NamedTuple):
    """Models and their mean ranks, best first.

    Parameters
    ----------
    models, ranks
        The models that were run on all data sets, and their mean ranks.
    n_datasets
        The number of data sets.
    p_value
        Of Friedman's test that all models are alike; NaN with fewer than three, or if
        all scores are equal.
    difference
        Models whose mean ranks differ by less are not told apart (Nemenyi, 95 %).
    """

    models: tuple[str, ...]
    ranks: tuple[float, ...]
    n_datasets: int
    p_value: float
    difference: float

    def cliques(self) -> list[tuple[int, int]]:
        """First and last places of the longest groups that are not told apart."""
        found: list[tuple[int, int]] = []
        for first, rank in enumerate(self.ranks):
            last = max(
                i for i, r in enumerate(self.ranks) if r - rank <= self.difference
            )
            if last > first and not any(last <= end for _, end in found):
                found.append((first, last))
        return found


def mean_scores(rows: Sequence[Row], measure: str) -> dict[str, dict[str, float]]:
    """Mean over the folds that all models have, by model and data set."""
    values: dict[str, dict[str, dict[int, float]]] = {}
    for row in rows:
        own = values.setdefault(row["dataset"], {}).setdefault(row["model"], {})
        own[row["fold"]] = row["metrics"][measure]
    scores: dict[str, dict[str, float]] = {}
    for dataset, models in values.items():
        shared = set.intersection(*(set(folds) for folds in models.values()))
        for model, folds in models.items():
            if shared:
                mean = fmean(folds[fold] for fold in sorted(shared))
                scores.setdefault(model, {})[dataset] = mean
    return scores


def ranking(rows: Sequence[Row], measure: str) -> Ranking:
    """The mean ranks of the models that have rows for every data set."""
    scores = mean_scores(rows, measure)
    names = sorted({row["dataset"] for row in rows})
    complete = {
        model: [own[name] for name in names]
        for model, own in scores.items()
        if len(own) == len(names)
    }
    return rank(complete, lower=measure in LOWER)


def rank(scores: Mapping[str, Sequence[float]], *, lower: bool) -> Ranking:
    """Rank models by their scores on each data set; ties share their mean rank.

    Examples
    --------
    >>> found = rank({"a": [1.0, 2.0], "b": [3.0, 2.0]}, lower=True)
    >>> found.models, found.ranks
    (('a', 'b'), (1.25, 1.75))
    """
    table = np.array([*scores.values()], dtype=float)  # models, data sets
    n_models, n_datasets = table.shape
    ranks = stats.rankdata(table if lower else -table, axis=0).mean(1)
    order = np.argsort(ranks, kind="stable")
    p_value = math.nan
    if n_models > 2 and n_datasets > 1 and np.ptp(table, axis=0).any():
        p_value = float(stats.friedmanchisquare(*table).pvalue)
    models = list(scores)
    return Ranking(
        tuple(models[i] for i in order),
        tuple(float(ranks[i]) for i in order),
        n_datasets,
        p_value,
        critical_difference(n_models, n_datasets),
    )


@cache
def critical_difference(n_models: int, n_datasets: int) -> float:
    """Nemenyi's critical difference of mean ranks at 95 %.

    Examples
    --------
    Demsar's example: 4 models, 14 data sets.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    if n_models < 2:
        return math.inf
    q = stats.studentized_range.ppf(1 - SIGNIFICANT, n_models, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(n_models * (n_models + 1) / (6 * n_datasets)))
