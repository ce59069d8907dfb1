"""Plot curves from the rows of Table 2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from crbm import plotting
from paper.engine.store import Row
from paper.tables import table2


def draw(rows: Sequence[Row], folder: Path, tag: str = "") -> list[Path]:
    """Save the curves of the runs at the best rates as PNG and SVG; returns paths."""
    rows = table2.best_rate_rows(rows)
    figures = {}
    if any("validation" in row["details"] for row in rows):
        figures[f"error_by_epoch{tag}"] = error_by_epoch(rows)
    if any("by_threshold" in row["details"] for row in rows):  # not in old rows
        figures[f"error_by_threshold{tag}"] = error_by_threshold(rows)
    return plotting.write_all(figures, folder)


def error_by_epoch(rows: Sequence[Row]) -> Any:
    """Plot the validation error after each epoch, for each kind of noise."""

    def curve(ax: Any, row: Row) -> None:
        errors = row["details"].get("validation", [])
        if errors:
            ax.plot(range(1, len(errors) + 1), errors, label=row["model"])

    return _by_kind(rows, curve, xlabel="epoch", ylabel="wrong pixels, %")


def error_by_threshold(rows: Sequence[Row]) -> Any:
    """Plot the error of all pixels against that of changed ones, per kind of noise.

    The threshold of a prediction varies along a curve; dots mark a threshold of 0.5.
    """

    def curve(ax: Any, row: Row) -> None:
        errors = row["details"].get("by_threshold")
        if errors is None:
            return
        [line] = ax.plot(errors["changed"], errors["all"], label=row["model"])
        metrics = row["metrics"]
        ax.plot(metrics["changed"], metrics["all"], "o", color=line.get_color())

    return _by_kind(
        rows,
        curve,
        xlabel="wrong among changed pixels, %",
        ylabel="wrong among all pixels, %",
    )


def _by_kind(
    rows: Sequence[Row], curve: Callable[[Any, Row], None], **labels: str
) -> Any:
    """One plot per kind of noise, with one curve per model, of the first seed."""
    kinds = sorted({row["dataset"] for row in rows})
    figure = plotting.new_figure(5.5 * len(kinds), 4.6)
    axes = figure.subplots(1, len(kinds), squeeze=False)[0]
    for ax, kind in zip(axes, kinds, strict=True):
        for model in table2.MODELS:
            for row in rows:
                if (row["dataset"], row["model"], row["seed"]) == (kind, model, 0):
                    curve(ax, row)
        ax.set(title=f"{kind} MNIST", **labels)
        if ax.has_data():
            ax.legend(fontsize="small")
    return figure
