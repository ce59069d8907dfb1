"""The small table of the README: the paper, its protocol here, ours, best baseline."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from paper.engine.store import Row, Store
from paper.tables import published, table1, table2
from paper.tables.published import Column, PublishedScores

HEADINGS = (
    *("wrong, in percent", "paper", "its protocol here"),
    *("ours", "best baseline", "folds or seeds"),
)


class Claim(NamedTuple):
    """A line of the table: a model of the paper on one data set, and its rivals.

    Parameters
    ----------
    what
        The first column.
    dataset, metrics
        The data set and the metrics.
    model
        Name of the paper's model.
    ours, baselines
        Names of our models, and of models of other libraries.
    """

    what: str
    dataset: str
    metrics: Sequence[str]
    model: str
    ours: Collection[str]
    baselines: Collection[str]


_LABEL_MODELS = ("HashCRBM", table1.OURS, table1.BASELINES)
_LABELS = (("hamming",), *_LABEL_MODELS)
_SETS = ((table1.WRONG_SETS,), *_LABEL_MODELS)
_NETWORKS = [name for name in table2.MODELS if name.startswith("MLP")]
_PIXELS = (
    ("all", "changed"),
    "CD-PercLoss",
    [name for name in table2.OURS if name not in _NETWORKS],
    _NETWORKS,
)
TABLES: dict[str, tuple[PublishedScores, list[Claim]]] = {
    table1.EXPERIMENT: (
        published.TABLE1,
        [
            Claim("labels of Yeast", "yeast", *_LABELS),
            Claim("labels of Scene", "scene", *_LABELS),
            Claim("whole label sets of Yeast", "yeast", *_SETS),
            Claim("whole label sets of Scene", "scene", *_SETS),
        ],
    ),
    table2.EXPERIMENT: (
        published.TABLE2,
        [
            Claim("pixels of corrupted digits, all / changed", "corrupted", *_PIXELS),
            Claim("pixels of occluded digits, all / changed", "occluded", *_PIXELS),
        ],
    ),
}


def render(folder: Path) -> str:
    """The table in Markdown, from the rows in `folder`; a dash for missing rows."""
    lines = [_line(HEADINGS), _line(["---"] * len(HEADINGS))]
    for name, (printed, claims) in TABLES.items():
        rows = list(Store(folder / f"{name}.jsonl"))
        if name == table1.EXPERIMENT:
            rows = table1.with_wrong_sets(table1.current_rows(rows))
        else:
            rows = table2.best_rate_rows(rows)
        lines += [_line(_cells(claim, rows, printed)) for claim in claims]
    return "\n".join(lines)


def _cells(claim: Claim, rows: Sequence[Row], printed: PublishedScores) -> list[str]:
    rows = [row for row in rows if row["dataset"] == claim.dataset]
    columns = [Column(claim.dataset, metric) for metric in claim.metrics]
    paper = [printed[claim.model][c] for c in columns if c in printed[claim.model]]
    models = [claim.model, _best(rows, claim.ours), _best(rows, claim.baselines)]
    return [
        claim.what,
        _format_errors(paper, claim),
        *(_errors_with_name(rows, model, claim) for model in models),
        _run_counts(rows, models),
    ]


def _best(rows: Sequence[Row], models: Collection[str]) -> str | None:
    """The model with the lowest mean validation error; None without rows."""
    errors = {
        model: fmean(_validation(row) for row in rows if row["model"] == model)
        for model in models
        if any(row["model"] == model for row in rows)
    }
    return min(errors, key=lambda model: errors[model], default=None)


def _errors_with_name(rows: Sequence[Row], model: str | None, claim: Claim) -> str:
    """The errors of a model; with its name if it is not the paper's model."""
    if model is None:
        return "-"
    errors = _format_errors(_means(rows, model, claim), claim)
    if model == claim.model:
        return errors
    return f"{errors} ({model.removesuffix(' (ours)')})"


def _run_counts(rows: Sequence[Row], models: Collection[str | None]) -> str:
    """The number of runs per model: one number, or the smallest and the largest."""
    counts = {sum(row["model"] == model for row in rows) for model in models if model}
    least, most = min(counts), max(counts)
    return str(most) if least == most else f"{least} to {most}"


def _validation(row: Row) -> float:
    """The lowest validation error of a run."""
    error = row["metrics"].get("validation")
    return min(row["details"]["validation"]) if error is None else error


def _means(rows: Sequence[Row], model: str, claim: Claim) -> list[float]:
    runs = [row["metrics"] for row in rows if row["model"] == model]
    return [fmean(run[metric] for run in runs) for metric in claim.metrics if runs]


def _format_errors(means: Sequence[float], claim: Claim) -> str:
    form = "{:.2f}" if len(claim.metrics) == 1 else "{:.3f}"
    return " / ".join(form.format(mean) for mean in means) or "-"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
