"""A table of the report, and what is said about its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paper.engine.store import Row
from paper.report.scores import Score


@dataclass(frozen=True)
class Table:
    """A table of the report.

    Parameters
    ----------
    title, note
        Title, and a text on what was measured.
    columns
        Headings of the scores.
    rows
        Models and their scores; None for a missing one.
    choices
        The parameters chosen for each model and data set, and how often.
    cost
        Number of runs and hours; empty if a previous table has them.
    """

    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Score | None]]]
    choices: Sequence[tuple[str, str, str]] = ()
    cost: str = ""

    @property
    def above(self) -> list[str]:
        """The scores above those of the paper, and by how much."""
        return [
            f"{model} on {column} by {score.gap}"
            for model, row in self.rows
            for column, score in zip(self.columns, row, strict=True)
            if score and score.gap > 0
        ]


def full_title(title: str, rows: Sequence[Row]) -> str:
    """The title, marked if the rows are those of the quick version."""
    if rows[0]["config"]["quick"]:
        return f"{title}: the quick version, on less data, not the paper's protocol"
    return title


def cost_of(rows: Sequence[Row]) -> str:
    """The number of runs, their time, and the versions they were run with."""
    hours = sum(row["seconds"] for row in rows) / 3600
    versions: dict[str, set[str]] = {}
    for row in rows:
        for name, version in row["versions"].items():
            versions.setdefault(name, set()).add(version)
    texts = [f"{name} {' and '.join(sorted(v))}" for name, v in versions.items()]
    return f"{len(rows)} runs, {hours:.1f} hours on one thread; {', '.join(texts)}."
