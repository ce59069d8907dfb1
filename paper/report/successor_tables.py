"""Our results beside those published after 2011, for the report and the docs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

from paper.engine.judging import LOWER
from paper.engine.store import Row
from paper.report.scores import Score
from paper.report.table import Table, cost_of
from paper.tables import ours, successors


def tables(rows: Sequence[Row]) -> list[Table]:
    """One table of the report for each published table that has rows of ours."""
    return [
        _table(table, own)
        for table in successors.TABLES
        if (own := successors.rows_of(table, rows))
    ]


def _table(table: successors.Table, rows: Sequence[Row]) -> Table:
    lines: list[tuple[str, list[Score | None]]] = [
        (method, [_published(value) for value in values])
        for method, values in table.published.items()
    ]
    for model in table.models:
        own = [row for row in rows if row["model"] == model]
        if own:
            name = f"{model} ({'ours' if model in ours.MODELS else 'run here'})"
            lines.append((name, [_measured(own, m) for m in table.measures]))
    note = f"{table.protocol} {outcome(table, rows)} Source: {table.source}."
    marked = _mark_best(lines, table.measures)
    title = f"After 2011: {table.title}"
    return Table(title, note, table.measures, marked, cost=cost_of(rows))


def outcome(table: successors.Table, rows: Sequence[Row]) -> str:
    """Whether each goal is reached, and by how much."""
    texts = []
    for name, goal in zip(table.measures, table.goal, strict=True):
        own = [row["metrics"][name] for row in rows if row["model"] in ours.MODELS]
        if goal is None or not own:
            continue
        gap = fmean(own) - goal if name not in LOWER else goal - fmean(own)
        word = "above" if gap > 0 else "below"
        texts.append(f"{name} is {abs(gap):.2f} {word} {goal:g}")
    return f"Ours: {', '.join(texts)}." if texts else ""


def _published(value: float | None) -> Score | None:
    return None if value is None else Score(str(value), "", 0, "")


def _measured(rows: Sequence[Row], measure: str) -> Score:
    values = [row["metrics"][measure] for row in rows]
    spread = f"{stdev(values):.2f}" if len(values) > 1 else ""
    return Score(f"{fmean(values):.2f}", spread, len(values), "")


def _mark_best(
    lines: Sequence[tuple[str, list[Score | None]]], measures: Sequence[str]
) -> list[tuple[str, list[Score | None]]]:
    best = []
    for place, name in enumerate(measures):
        shown = [float(s.mean) for _, row in lines if (s := row[place]) is not None]
        best.append(min(shown) if name in LOWER else max(shown))
    return [
        (
            model,
            [
                score and score._replace(best=float(score.mean) == limit)
                for score, limit in zip(row, best, strict=True)
            ],
        )
        for model, row in lines
    ]
