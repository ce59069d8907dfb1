"""The tables of `crbm reproduce rules` as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean, stdev

from paper.engine.store import Row
from paper.tables import missing_labels, rules

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
    path.write_text(f"{objectives_table(rows)}\n\n{missing_table(rows)}\n")
    return [path]


def objectives_table(rows: Sequence[Row]) -> str:
    """One row per objective, one column per measure; the last is CPU time."""
    heads = ["objective", *(f"{name}, {measure}" for name, measure in COLUMNS)]
    heads += ["folds", "CPU s, Yeast"]
    lines = []
    for title in rules.RULES:
        own = [row for row in rows if row["model"] == title]
        found = {column: _values(own, *column) for column in COLUMNS}
        if any(found.values()):
            cells = [_spread(values) for values in found.values()]
            n_folds = len(found["scene", "hamming"] or found["yeast", "hamming"])
            seconds = [row["seconds"] for row in own if row["dataset"] == "yeast"]
            lines.append([title, *cells, str(n_folds or ""), _spread(seconds, 0)])
    return _table(heads, lines)


def missing_table(rows: Sequence[Row]) -> str:
    """bibtex with a fifth of the entries observed, beside published figures."""
    lines = [
        [f"{name} (published)", *(_number(figures, key) for key in MISSING)]
        for name, figures in missing_labels.PUBLISHED.items()
    ]
    for row in rows:
        if row["dataset"] == missing_labels.DATASET:
            figures = row["metrics"]
            lines.append([row["model"], *(_number(figures, key) for key in MISSING)])
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
