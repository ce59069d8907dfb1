"""The table of the image experiments, from their rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, stdev

from paper.engine.store import Row
from paper.tables import images

METRICS = ("all", "changed", "whole", "iou", "iou_of_classes", "accuracy", "nll")
INTRODUCTION = """# Images

Written by `crbm reproduce images`, which `docs/reproduce.md` describes.
Means over seeds or splits, and their standard deviation, on the test part.
In percent: wrong pixels, among `all` and among those that the noise `changed`;
images that are entirely right (`whole`; of digits those of the mode, while their
errors per pixel are those of the likeliest label of each pixel); intersection over
union, mean over images (`iou`) or over classes (`iou_of_classes`); right pixels
(`accuracy`).
In nats: `nll`, the mean of -log p(mask | image). It is exact, except for the
`NetworkCRBM` of quadrants, where log Z is estimated by annealed importance sampling
on the first 500 test digits; with maps of hidden units it would take longer than the
training and is left out.
"""


def write(rows: Iterable[Row], folder: Path, *, quick: bool = False) -> Path:
    """Write `images.md`, or `images-quick.md`: a table for each data set with rows."""
    path = folder / f"{images.EXPERIMENT}{'-quick' if quick else ''}.md"
    path.write_text(f"{INTRODUCTION}\n{tables(rows)}\n")
    return path


def tables(rows: Iterable[Row], *, level: int = 2) -> str:
    """A table for each data set with rows, under headings of this level."""
    rows = images.current_rows(rows)
    names = [name for name in images.EXPERIMENTS if _of(rows, name)]
    parts = [f"{'#' * level} {name}\n\n{_table(_of(rows, name))}" for name in names]
    return "\n\n".join(parts)


def _of(rows: Iterable[Row], dataset: str) -> list[Row]:
    return [row for row in rows if row["dataset"] == dataset]


def _table(rows: list[Row]) -> str:
    metrics = [m for m in METRICS if any(m in row["metrics"] for row in rows)]
    head = ["model", *metrics, "parameters", "epochs", "runs", "CPU s per run"]
    lines = [_line(head), _line(["---"] * len(head))]
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["model"], row["config"]["n_epochs"]), []).append(row)
    by_kind = sorted(groups.items(), key=lambda item: "maps" in item[0][0])
    for (model, n_epochs), group in by_kind:
        values = [_mean([row["metrics"].get(m) for row in group]) for m in metrics]
        n_parameters = f"{group[0]['details']['n_parameters']:,}"
        seconds = f"{fmean(row['seconds'] for row in group):.0f}"
        cells = [model, *values, n_parameters, str(n_epochs), str(len(group)), seconds]
        lines.append(_line(cells))
    return "\n".join(lines)


def _mean(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    spread = f" ± {stdev(known):.2f}" if len(known) > 1 else ""
    return f"{fmean(known):.2f}{spread}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
