"""Figures of the report: measured, their spread and tests, in percent as shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from paper.engine.store import Row
from paper.report import summary
from paper.report.summary import Entry, Repeats
from paper.tables.published import Column, PublishedScores


class Layout(NamedTuple):
    """What a table shows.

    Parameters
    ----------
    columns
        The data sets, and what is measured on them.
    repeats
        Which measurements are compared between models, pair by pair.
    form
        How a number is printed.
    """

    columns: Sequence[Column]
    repeats: Repeats
    form: str


class Score(NamedTuple):
    """A figure as it is shown: measured, its spread, published; all in percent.

    `best` of its column, `best_of_paper` among the models of the paper: the lowest, or
    not told from it. `p_value` is of the comparison with the lowest: that of the paper
    for its models, of all for the others; empty where there is none.
    """

    mean: str
    spread: str
    n_repeats: int
    p_value: str
    published: str = ""
    best: bool = False
    best_of_paper: bool = False

    @property
    def gap(self) -> Decimal:
        """How much is measured above what is published; zero where nothing is."""
        return Decimal(self.mean) - Decimal(self.published or self.mean)


ModelScores = tuple[str, list[Score | None]]


def model_scores(
    rows: Sequence[Row], layout: Layout, printed: PublishedScores
) -> list[ModelScores]:
    """The models of these rows with their figures, in the order of the rows."""
    columns, repeats, _ = layout
    measured = summary.summarise(rows, columns, repeats)
    papers = summary.summarise(
        [row for row in rows if row["model"] in printed], columns, repeats
    )
    shown = []
    for model, entries in measured.items():
        scores: list[Score | None] = []
        for column in columns:
            entry = entries.get(column)
            if entry is None:
                scores.append(None)
                continue
            among = papers[model][column] if model in papers else None
            paper = printed.get(model, {}).get(column)
            scores.append(
                _score(entry, (among or entry).p_value, layout.form)._replace(
                    published="" if paper is None else layout.form.format(paper),
                    best=entry.best,
                    best_of_paper=among is not None and among.best,
                )
            )
        shown.append((model, scores))
    return shown


def variant_scores(
    rows: Sequence[Row], base_rows: Sequence[Row], layout: Layout
) -> list[Score | None]:
    """The figures of a variant, whose p compares it with its base."""
    scores: list[Score | None] = []
    for name, metric in layout.columns:
        one, other = (
            [r for r in part if r["dataset"] == name] for part in (rows, base_rows)
        )
        if not one:
            scores.append(None)
            continue
        entry = summary.entry_of(one, metric, layout.repeats)
        p_value = None
        if other and one != other:
            base = summary.entry_of(other, metric, layout.repeats)
            p_value = summary.p_value(entry.repeats, base.repeats)
        scores.append(_score(entry, p_value, layout.form))
    return scores


def _score(entry: Entry, p_value: float | None, form: str) -> Score:
    """A figure that is marked as nothing yet."""
    return Score(
        form.format(entry.mean),
        form.format(entry.spread) if entry.n_repeats > 1 else "",
        entry.n_repeats,
        _format_p(p_value),
    )


def _format_p(p_value: float | None) -> str:
    if p_value is None or math.isnan(p_value):
        return ""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
