"""The report: measured figures beside published ones, rendered from the store."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from paper.engine.store import Row, Store, key
from paper.report import scores, summary
from paper.report.scores import Layout, ModelScores, Score
from paper.tables import published, table1, table2, trials
from paper.tables.published import Column
from paper.tables.trials import Trial

PICTURES = {
    "figure2": "Occluded digits restored by each model. White: pixels of the input. "
    "Red: pixels that only the prediction has. Blue: pixels that it took away.",
    "filters": "What the strongest hidden units of each model ask for and forbid.",
    "error_by_epoch": "Validation error after each epoch of training.",
    "error_by_threshold": "Test errors where a pixel is changed as soon as that is "
    "held for likelier than a threshold; dots: a half. Low and left is good.",
    "error_by_steps": "Test error against the mean-field steps of a prediction.",
}


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
    rows: Sequence[tuple[str, Sequence[Score | None]]]
    choices: Sequence[tuple[str, str, str]] = ()
    cost: str = ""

    @property
    def above(self) -> list[str]:
        """Which figures are above those of the paper, and by how much."""
        return [
            f"{model} on {column} by {score.gap}"
            for model, shown in self.rows
            for column, score in zip(self.columns, shown, strict=True)
            if score and score.gap > 0
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
        source = files("paper.report").joinpath(f"report.{ending}.jinja")
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
    if first := _ordered(table1.current_rows(every), table1.MODELS):
        past = _outdated(every, first, trials.LABELS)
        found += _table1(first, past), _whole_sets(first)
    found += _trial_tables("Table 1", trials.LABELS, first, every, _labels(every))
    every = [row for row in rows if row["experiment"] == table2.EXPERIMENT]
    if second := _ordered(table2.current_rows(every), table2.MODELS):
        found.append(_table2(second, _outdated(every, second, trials.DIGITS)))
    kept = table2.best_rate_rows(second)
    return [*found, *_trial_tables("Table 2", trials.DIGITS, kept, every, PIXELS)]


def _outdated(
    every: Sequence[Row], declared: Sequence[Row], tried: Sequence[Trial]
) -> str:
    """A sentence on the rows that do not count any more, if there are any."""
    known = {key(row) for row in declared}
    known |= {cell.key for trial in tried for cell in trial.cells}
    n_past = sum(key(row) not in known for row in every)
    return f" {n_past} rows of settings of the past are left out." if n_past else ""


def _table1(rows: Sequence[Row], past: str) -> Table:
    names, shown = _by_fold(rows, "hamming")
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
        shown,
        list(_choices(rows)),
        _cost(rows),
    )


def _whole_sets(rows: Sequence[Row]) -> Table:
    names, shown = _by_fold(table1.with_wrong_sets(rows), table1.WRONG_SETS)
    return Table(
        _title("Whole label sets, by the runs of Table 1", rows),
        "Test rows of which not all labels are right, in percent; otherwise as above. "
        "The paper has no such table, and settings were chosen by single labels.",
        names,
        shown,
    )


def _by_fold(rows: Sequence[Row], metric: str) -> tuple[list[str], list[ModelScores]]:
    """The data sets of Table 1, and the figures of each model on them."""
    layout = _labels(rows, metric)
    return _headings(layout), scores.model_scores(rows, layout, published.TABLE1)


def _labels(rows: Sequence[Row], metric: str = "hamming") -> Layout:
    present = {row["dataset"] for row in rows}
    columns = [Column(name, metric) for name in table1.DATASETS if name in present]
    return Layout(columns, summary.by_fold, "{:.2f}")


PIXELS = Layout(
    [Column(kind, metric) for kind in table2.KINDS for metric in ("all", "changed")],
    summary.by_block,
    "{:.3f}",
)


def _headings(layout: Layout) -> list[str]:
    """Names of the columns: the data set, and what is measured where that differs."""
    several = len({column.metric for column in layout.columns}) > 1
    return [", ".join(each) if several else each.dataset for each in layout.columns]


def _table2(rows: Sequence[Row], past: str) -> Table:
    rows = table2.best_rate_rows(rows)
    return Table(
        _title("Table 2: restoring noisy digits", rows),
        "Wrong pixels on the test digits in percent, among all and among those that "
        "the noise changed; mean and standard deviation over seeds, whose number "
        "stands in brackets. "
        + COMPARED.format(over="over ten parts of the test digits ")
        + past,
        _headings(PIXELS),
        scores.model_scores(rows, PIXELS, published.TABLE2),
        list(_choices(rows)),
        _cost(rows),
    )


def _trial_tables(
    name: str,
    tried: Iterable[Trial],
    kept: Sequence[Row],
    every: Sequence[Row],
    layout: Layout,
) -> list[Table]:
    """The trials of a table that have rows, below the models that they change."""
    by_key = {key(row): row for row in every}
    found = [(trial, rows) for trial in tried if (rows := trial.rows(by_key))]
    if not found:
        return []
    shown: list[ModelScores] = []
    for base in dict.fromkeys(trial.base for trial, _ in found):
        own = [row for row in kept if row["model"] == base]
        shown.append((base, scores.variant_scores(own, own, layout)))
        for trial, rows in found:
            if trial.base == base:
                shown.append(
                    (f"↳ {trial.change}", scores.variant_scores(rows, own, layout))
                )
    note = (
        f"Models of {name} with something changed, each below the one that it changes; "
        "otherwise as there. p compares the two."
    )
    title = f"{name}: what else was tried"
    cost = _cost([row for _, rows in found for row in rows])
    return [Table(title, note, _headings(layout), shown, cost=cost)]


def _title(title: str, rows: Sequence[Row]) -> str:
    if rows[0]["config"]["quick"]:
        return f"{title}: the quick version, on less data, not the paper's protocol"
    return title


def _ordered(rows: Iterable[Row], models: Iterable[str]) -> list[Row]:
    """The rows in the order of their table, whichever was run first."""
    places = {model: place for place, model in enumerate(models)}
    return sorted(rows, key=lambda row: places.get(row["model"], -1))


def _choices(rows: Iterable[Row]) -> Iterable[tuple[str, str, str]]:
    """How often each setting was chosen, the commonest first."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        chosen = row["details"].get("chosen")
        if chosen is None and "learning_rate" in row["config"]:
            chosen = {"learning_rate": row["config"]["learning_rate"]}
        if chosen:
            place = counts.setdefault((row["model"], row["dataset"]), {})
            words = _format_parameters(chosen)
            place[words] = place.get(words, 0) + 1
    for (model, dataset), place in counts.items():
        order = sorted(place.items(), key=lambda item: -item[1])
        yield model, dataset, "; ".join(f"{words} ({n} x)" for words, n in order[:3])


def _format_parameters(settings: dict[str, Any]) -> str:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return ", ".join(f"{name} {_format_value(value)}" for name, value in flat.items())


def _format_value(value: Any) -> str:
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
