"""The scores of the report as text: mean, spread, p-value and published score."""

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
    """Columns and number format of a table.

    Parameters
    ----------
    columns
        The data sets and metrics.
    repeats
        Function that returns the measurements for paired comparisons.
    form
        Format of a number.
    """

    columns: Sequence[Column]
    repeats: Repeats
    form: str


class Score(NamedTuple):
    """A score as text, in percent.

    `best` marks the lowest score of the column and those not significantly above it,
    `best_of_paper` the same among the models of the paper. `p_value` compares with the
    lowest score: of the paper's models for these, of all models for others. It is empty
    if there is no comparison.
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
        """The measured minus the published score; zero if none is published."""
        return Decimal(self.mean) - Decimal(self.published or self.mean)


ModelScores = tuple[str, list[Score | None]]


def model_scores(
    rows: Sequence[Row], layout: Layout, printed: PublishedScores
) -> list[ModelScores]:
    """The models of these rows with their scores, in the order of the rows."""
    columns, repeats, _ = layout
    measured = summary.summarise(rows, columns, repeats)
    of_paper = summary.summarise(
        [row for row in rows if row["model"] in printed], columns, repeats
    )
    models = []
    for model, entries in measured.items():
        scores: list[Score | None] = []
        for column in columns:
            entry = entries.get(column)
            if entry is None:
                scores.append(None)
                continue
            paper_entry = of_paper[model][column] if model in of_paper else None
            paper = printed.get(model, {}).get(column)
            scores.append(
                _score(entry, (paper_entry or entry).p_value, layout.form)._replace(
                    published="" if paper is None else layout.form.format(paper),
                    best=entry.best,
                    best_of_paper=paper_entry is not None and paper_entry.best,
                )
            )
        models.append((model, scores))
    return models


def variant_scores(
    rows: Sequence[Row], base_rows: Sequence[Row], layout: Layout
) -> list[Score | None]:
    """The scores of a variant; p compares it with its base."""
    scores: list[Score | None] = []
    for name, metric in layout.columns:
        own, base = (
            [r for r in group if r["dataset"] == name] for group in (rows, base_rows)
        )
        if not own:
            scores.append(None)
            continue
        entry = summary.summarise_runs(own, metric, layout.repeats)
        p_value = None
        if base and own != base:
            base_entry = summary.summarise_runs(base, metric, layout.repeats)
            p_value = summary.p_value(entry.repeats, base_entry.repeats)
        scores.append(_score(entry, p_value, layout.form))
    return scores


def _score(entry: Entry, p_value: float | None, form: str) -> Score:
    """The score without the marks for the best."""
    return Score(
        form.format(entry.mean),
        form.format(entry.spread) if entry.n_repeats > 1 else "",
        entry.n_repeats,
        format_p(p_value),
    )


def format_p(p_value: float | None) -> str:
    """A p-value as text; empty if there is none."""
    if p_value is None or math.isnan(p_value):
        return ""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
