"""The report: measured figures beside published ones, rendered from the store."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from crbm.experiments import published, summary, table1, table2
from crbm.experiments.published import Column, Figures
from crbm.experiments.store import Row, Store
from crbm.experiments.summary import Repeats

PICTURES = {
    "figure2": "Occluded digits restored by each model. White: pixels of the input. "
    "Red: pixels that only the prediction has. Blue: pixels that it took away.",
    "filters": "What the strongest hidden units of each model ask for and forbid.",
    "error_by_epoch": "Validation error after each epoch of training.",
    "error_by_threshold": "Test errors where a pixel is changed as soon as that is "
    "held for likelier than a threshold; dots: a half. Low and left is good.",
    "error_by_steps": "Test error against the mean-field steps of a prediction.",
}


class Figure(NamedTuple):
    """A figure as it is shown: measured, its spread, published; all in percent.

    `best` of its column, `best_of_paper` among the models of the paper: the lowest, or
    not told from it. `p_value` is of the comparison with the lowest: that of the paper
    for its models, of all for the others; empty where there is none.
    """

    mean: str
    spread: str
    n_repeats: int
    p_value: str
    published: str
    best: bool
    best_of_paper: bool

    @property
    def gap(self) -> Decimal:
        """How much is measured above what is published; zero where nothing is."""
        return Decimal(self.mean) - Decimal(self.published or self.mean)


COMPARED = (
    "Bold: lowest of all models; †: of the paper's. Both also mark what a two-sided "
    "paired t-test at 95 % {over}does not tell from that lowest. Its p is given: for "
    "the paper's models against their lowest, for others against the lowest of all."
)


@dataclass(frozen=True)
class Table:
    """A table as it is shown.

    Parameters
    ----------
    title, note
        What it is, and how it was measured.
    columns
        Headings of the figures.
    rows
        Models and their figures; None where there is none.
    choices
        Which settings were chosen for which model and data set, and how often.
    cost
        Runs and hours that it took; empty where a table before told them.
    """

    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Figure | None]]]
    choices: Sequence[tuple[str, str, str]] = ()
    cost: str = ""

    @property
    def above(self) -> list[str]:
        """Which figures are above those of the paper, and by how much."""
        return [
            f"{model} on {column} by {figure.gap}"
            for model, figures in self.rows
            for column, figure in zip(self.columns, figures, strict=True)
            if figure and figure.gap > 0
        ]


def write(folder: Path) -> list[Path]:
    """Render report.html and report.md from the rows and pictures of a folder."""
    stores = sorted(folder.glob("table[12]*.jsonl"))
    stores = [path for path in stores if "rates" not in path.name]
    shown = [table for path in stores for table in tables(list(Store(path)))]
    if not shown:
        raise ValueError(
            f"`{folder}` holds no rows to report. Run `crbm reproduce table1` first."
        )
    pictures = [
        (path, caption)
        for name, caption in PICTURES.items()
        for path in sorted(folder.glob(f"{name}*.png"))
    ]
    written = []
    for ending in ("html", "md"):
        source = files("crbm.experiments").joinpath(f"report.{ending}.jinja")
        environment = jinja2.Environment(
            autoescape=ending == "html", trim_blocks=True, lstrip_blocks=True
        )
        environment.filters["inline"] = _inline
        template = environment.from_string(source.read_text(encoding="utf-8"))
        written.append(folder / f"report.{ending}")
        text = template.render(tables=shown, pictures=pictures)
        written[-1].write_text(text, encoding="utf-8")
    return written


def tables(rows: Sequence[Row]) -> list[Table]:
    """The tables that these rows belong to; runs as they once were have none."""
    found: list[Table] = []
    every = [row for row in rows if row["experiment"] == table1.EXPERIMENT]
    if first := _ordered(table1.as_declared(every), table1.MODELS):
        found += _table1(first, _past(every, first)), _whole_sets(first)
    every = [row for row in rows if row["experiment"] == table2.EXPERIMENT]
    if second := _ordered(table2.as_declared(every), table2.MODELS):
        found.append(_table2(second, _past(every, second)))
    return found


def _past(every: Sequence[Row], declared: Sequence[Row]) -> str:
    """A sentence on the rows that do not count any more, if there are any."""
    n_past = len(every) - len(declared)
    return f" {n_past} rows of settings of the past are left out." if n_past else ""


def _table1(rows: Sequence[Row], past: str) -> Table:
    names, figures = _by_fold(rows, "hamming")
    missing = [name for name in table1.DATASETS if name not in names]
    note = (
        "Wrong labels on the test rows in percent, mean and standard deviation over "
        "folds, whose number stands in brackets; settings chosen on the validation "
        "rows of each fold, which a refitted model and a committee learn from too. "
        + COMPARED.format(over="")
    )
    if missing:
        note += f" There are no runs of {', '.join(missing)}."
    return Table(
        _title("Table 1: multi-label classification", rows),
        note + past,
        names,
        figures,
        list(_choices(rows)),
        _cost(rows),
    )


def _whole_sets(rows: Sequence[Row]) -> Table:
    names, figures = _by_fold(table1.with_wrong_sets(rows), table1.WRONG_SETS)
    return Table(
        _title("Whole label sets, by the runs of Table 1", rows),
        "Test rows of which not all labels are right, in percent; otherwise as above. "
        "The paper has no such table, and settings were chosen by single labels.",
        names,
        figures,
    )


def _by_fold(
    rows: Sequence[Row], metric: str
) -> tuple[list[str], list[tuple[str, list[Figure | None]]]]:
    """The data sets of Table 1, and the figures of each model on them."""
    present = {row["dataset"] for row in rows}
    names = [name for name in table1.DATASETS if name in present]
    columns = [Column(name, metric) for name in names]
    return names, _figures(rows, columns, summary.by_fold, published.TABLE1, "{:.2f}")


def _table2(rows: Sequence[Row], past: str) -> Table:
    columns = [
        Column(kind, metric) for kind in table2.KINDS for metric in ("all", "changed")
    ]
    rows = table2.chosen(rows)
    return Table(
        _title("Table 2: restoring noisy digits", rows),
        "Wrong pixels on the test digits in percent, among all and among those that "
        "the noise changed; mean and standard deviation over seeds, whose number "
        "stands in brackets. "
        + COMPARED.format(over="over ten parts of the test digits ")
        + past,
        [f"{column.dataset}, {column.metric}" for column in columns],
        _figures(rows, columns, summary.by_block, published.TABLE2, "{:.3f}"),
        list(_choices(rows)),
        _cost(rows),
    )


def _title(title: str, rows: Sequence[Row]) -> str:
    if rows[0]["config"]["quick"]:
        return f"{title}: the quick version, on less data, not the paper's protocol"
    return title


def _ordered(rows: Iterable[Row], models: Iterable[str]) -> list[Row]:
    """The rows in the order of their table, whichever was run first."""
    places = {model: place for place, model in enumerate(models)}
    return sorted(rows, key=lambda row: places.get(row["model"], -1))


def _figures(
    rows: Sequence[Row],
    columns: Sequence[Column],
    repeats: Repeats,
    printed: Figures,
    form: str,
) -> list[tuple[str, list[Figure | None]]]:
    """The models of these rows with their figures, in the order of the rows."""
    measured = summary.summarise(rows, columns, repeats)
    papers = summary.summarise(
        [row for row in rows if row["model"] in printed], columns, repeats
    )
    shown = []
    for model, entries in measured.items():
        figures: list[Figure | None] = []
        for column in columns:
            entry = entries.get(column)
            if entry is None:
                figures.append(None)
                continue
            among = papers[model][column] if model in papers else None
            paper = printed.get(model, {}).get(column)
            figures.append(
                Figure(
                    form.format(entry.mean),
                    form.format(entry.spread) if entry.n_repeats > 1 else "",
                    entry.n_repeats,
                    _p_value((among or entry).p_value),
                    "" if paper is None else form.format(paper),
                    entry.best,
                    among is not None and among.best,
                )
            )
        shown.append((model, figures))
    return shown


def _p_value(p_value: float | None) -> str:
    if p_value is None or math.isnan(p_value):
        return ""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def _choices(rows: Iterable[Row]) -> Iterable[tuple[str, str, str]]:
    """How often each setting was chosen, the commonest first."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        chosen = row["details"].get("chosen")
        if chosen is None and "learning_rate" in row["config"]:
            chosen = {"learning_rate": row["config"]["learning_rate"]}
        if chosen:
            place = counts.setdefault((row["model"], row["dataset"]), {})
            words = _words(chosen)
            place[words] = place.get(words, 0) + 1
    for (model, dataset), place in counts.items():
        order = sorted(place.items(), key=lambda item: -item[1])
        yield model, dataset, "; ".join(f"{words} ({n} x)" for words, n in order[:3])


def _words(settings: dict[str, Any]) -> str:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return ", ".join(f"{name} {_number(value)}" for name, value in flat.items())


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cost(rows: Sequence[Row]) -> str:
    hours = sum(row["seconds"] for row in rows) / 3600
    told: dict[str, set[str]] = {}
    for row in rows:
        for name, version in row["versions"].items():
            told.setdefault(name, set()).add(version)
    words = [f"{name} {' and '.join(sorted(v))}" for name, v in told.items()]
    return f"{len(rows)} runs, {hours:.1f} hours on one thread; {', '.join(words)}."


def _inline(path: Path) -> str:
    """A picture as part of the page."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
