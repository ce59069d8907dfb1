"""The tables of `crbm reproduce rules` as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean, stdev

import numpy as np
from scipy.stats import ttest_rel

from paper.engine.store import Row
from paper.tables import missing_labels, rules

PERCEPTRON = "CD-PercLoss"
OTHERS = ("CD-1", "CD-10", "mean-field likelihood")
COLUMNS = (
    ("scene", "hamming"),
    ("scene", "subset"),
    ("yeast", "hamming"),
    ("yeast", "subset"),
    ("occluded", "all"),
    ("occluded", "changed"),
)
# `auc` is that of published figures, whose kind of average was not checked.
MISSING = ("precision_at_3", "hamming", "auc", "auc_by_case", "auc_by_label")


def write(rows: Iterable[Row], folder: Path) -> list[Path]:
    """Write `rules.md` with the rows that there are; returns its path."""
    path = folder / "rules.md"
    rows = list(rows)
    tables = objectives_table(rows), paired_table(rows), missing_table(rows)
    path.write_text("\n\n".join(tables) + "\n")
    return [path]


def objectives_table(rows: Sequence[Row]) -> str:
    """One row per objective, one column per measure; the last are CPU times.

    Times include the search for the learning rate.
    """
    heads = ["objective", *(f"{name}, {measure}" for name, measure in COLUMNS)]
    heads += ["folds", "CPU s, Yeast", "CPU s, digits"]
    lines = []
    for title in rules.RULES:
        own = [row for row in rows if row["model"] == title]
        found = {column: _values(own, *column) for column in COLUMNS}
        if any(found.values()):
            cells = [_spread(values) for values in found.values()]
            n_folds = len(found["scene", "hamming"] or found["yeast", "hamming"])
            seconds = [
                _spread([row["seconds"] for row in own if row["dataset"] == name], 0)
                for name in ("yeast", rules.DIGITS)
            ]
            lines.append([title, *cells, str(n_folds or ""), *seconds])
    return _table(heads, lines)


def paired_table(rows: Sequence[Row]) -> str:
    """Footnote 2: CD-PercLoss against CD on the same test cases, by a paired t-test.

    Labels: the wrong labels of each test case of the folds that both have. Digits: the
    wrong pixels of each tenth of the test digits.
    """
    lines = []
    for other in OTHERS:
        for name in (*rules.DATASETS, rules.DIGITS):
            pairs = _pairs(rows, name, PERCEPTRON, other)
            if pairs is not None:
                ours, theirs = pairs
                p = float(ttest_rel(ours, theirs).pvalue)
                figures = (ours.mean(), theirs.mean(), (ours - theirs).mean())
                cells = [f"{figure:.2f}" for figure in figures]
                lines.append([other, name, str(len(ours)), *cells, f"{p:.3g}"])
    heads = ["against", "data", "pairs", PERCEPTRON, "the other", "difference", "p"]
    return _table(heads, lines)


def _pairs(
    rows: Sequence[Row], name: str, first: str, second: str
) -> tuple[np.ndarray, np.ndarray] | None:
    """Errors in percent of two objectives on the same cases; None without both."""
    found: dict[str, dict[tuple[int | None, int], np.ndarray]] = {first: {}, second: {}}
    for row in rows:
        if row["dataset"] == name and row["model"] in found:
            place = row["fold"], row["seed"]
            found[row["model"]][place] = _errors(row)
    shared = [place for place in found[first] if place in found[second]]
    if not shared:
        return None
    ours, theirs = (
        np.concatenate([found[model][place] for place in shared])
        for model in (first, second)
    )
    return ours, theirs


def _errors(row: Row) -> np.ndarray:
    """The error of each test case or block in percent."""
    details = row["details"]
    if "blocks" in details:
        return np.asarray(details["blocks"]["all"], dtype=float)
    wrong = np.asarray(details["wrong_labels"], dtype=float)
    # as a share of the labels, of which the Hamming error is the mean
    return wrong * row["metrics"]["hamming"] / max(wrong.mean(), 1e-12)


def missing_table(rows: Sequence[Row]) -> str:
    """bibtex with a fifth of the entries observed, beside published figures.

    Means over the draws of the observed entries.
    """
    lines = [
        [f"{name} (published)", *(_number(figures, key) for key in MISSING)]
        for name, figures in missing_labels.PUBLISHED.items()
    ]
    found = [row for row in rows if row["dataset"] == missing_labels.DATASET]
    for name in dict.fromkeys(row["model"] for row in found):
        own = [row["metrics"] for row in found if row["model"] == name]
        values = [[run[key] for run in own if key in run] for key in MISSING]
        lines.append([name, *map(_spread, values)])
    return _table(["model", *MISSING], lines)


def _number(figures: dict[str, float], key: str) -> str:
    return f"{figures[key]:.2f}" if key in figures else ""


def _values(rows: Sequence[Row], name: str, measure: str) -> list[float]:
    return [row["metrics"][measure] for row in rows if row["dataset"] == name]


def _spread(values: Sequence[float], digits: int = 2) -> str:
    """The mean and, of several values, the standard deviation.

    Examples
    --------
    >>> _spread([1.0, 3.0]), _spread([2.0]), _spread([])
    ('2.00 +- 1.41', '2.00', '')
    """
    if not values:
        return ""
    text = f"{mean(values):.{digits}f}"
    return f"{text} +- {stdev(values):.{digits}f}" if len(values) > 1 else text


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
