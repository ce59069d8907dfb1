"""The table of `crbm reproduce untuned` as Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

from paper.engine.store import Row, key
from paper.tables import untuned, untuned_problems

Scores = dict[tuple[str, str], list[dict[str, float]]]


def write(rows: Iterable[Row], folder: Path) -> list[Path]:
    """Write `untuned.md`; returns its path."""
    path = folder / "untuned.md"
    path.write_text(table(rows) + "\n")
    return [path]


def table(rows: Iterable[Row]) -> str:
    """Our defaults beside the best of the others on each data set, as they come."""
    wanted = {cell.key for cell in untuned.cells()}
    found: Scores = defaultdict(list)
    for row in rows:
        if key(row) in wanted:
            found[row["dataset"], row["model"]].append(row["metrics"])
    lines = [
        [
            "data",
            *(f"{model}: wrong labels, %" for model in untuned.OURS),
            "best other",
            *(f"{model}: log loss" for model in untuned.OURS),
            "best other",
            "splits",
        ]
    ]
    lines.append(["---"] * len(lines[0]))
    for name in untuned_problems.DATASETS:
        if all((name, model) in found for model in untuned.OURS):
            lines.append(_line(name, found))
    if len(lines) == 2:
        return "There are no rows yet."
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _line(name: str, found: Scores) -> list[str]:
    n_splits = min(len(found[name, model]) for model in untuned.OURS)
    cells = [name]
    for measure, digits in (("hamming", 2), ("log_loss", 3)):
        means = {
            model: fmean(score[measure] for score in scores)
            for (dataset, model), scores in found.items()
            if dataset == name and measure in scores[0]
        }
        cells += [f"{means.pop(model):.{digits}f}" for model in untuned.OURS]
        best = min(means, key=lambda model: means[model]) if means else None
        cells.append("-" if best is None else f"{means[best]:.{digits}f} ({best})")
    return [*cells, str(n_splits)]
