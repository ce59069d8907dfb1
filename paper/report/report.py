"""The report: measured and published scores, rendered from the stored rows."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from paper.engine.store import Row, Store, key
from paper.report import scores, successor_tables, suite_tables, summary
from paper.report.scores import Layout, ModelScores
from paper.report.table import Table, cost_of, full_title
from paper.tables import published, successors, suite, table1, table2, trials
from paper.tables.published import Column
from paper.tables.trials import Trial

TAGS = ("", "-quick")  # of the names of stores
PAPER_TABLES = (table1.EXPERIMENT, table2.EXPERIMENT)
PICTURES = {
    "ranks": "Mean ranks over the data sets of the suite, 1 is best. Thick lines join "
    "models that Nemenyi's test does not tell apart at 95 %.",
    "figure2": "Occluded digits restored by each model. White: pixels of the input "
    "and the prediction. Red: of the prediction only. Blue: of the input only.",
    "filters": "Weights of the hidden units with the largest norms. Red pixels are "
    "turned on by the unit, blue ones off.",
    "error_by_epoch": "Validation error after each epoch of training.",
    "error_by_threshold": "Test errors as the threshold on the probability of a "
    "wrong pixel varies; dots mark 0.5. Lower left is better.",
    "error_by_steps": "Test error against the mean-field steps of a prediction.",
}


COMPARISON = (
    "Bold: the lowest of all models and those that a two-sided paired t-test at 95 % "
    "{over}does not find different from it. †: the same among the paper's models. "
    "p compares with the lowest: of the paper's models for these, of all models for "
    "the others."
)


def write(folder: Path) -> list[Path]:
    """Render report.html and report.md from the rows and pictures in `folder`."""
    contents = all_tables(folder)
    if not contents:
        raise ValueError(
            f"`{folder}` has no rows to report. Run `crbm reproduce table1` first."
        )
    pictures = [
        (path, caption)
        for name, caption in PICTURES.items()
        for path in sorted(folder.glob(f"{name}*.png"))
    ]
    paths = []
    for ending in ("html", "md"):
        source = files("paper.report").joinpath(f"report.{ending}.jinja")
        environment = jinja2.Environment(
            autoescape=ending == "html", trim_blocks=True, lstrip_blocks=True
        )
        environment.filters["inline"] = _inline
        template = environment.from_string(source.read_text(encoding="utf-8"))
        paths.append(folder / f"report.{ending}")
        text = template.render(tables=contents, pictures=pictures)
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def all_tables(folder: Path) -> list[Table]:
    """The tables of all rows in `folder`; the quick versions come last."""

    def rows(name: str, tag: str = "") -> list[Row]:
        return list(Store(folder / f"{name}{tag}.jsonl"))

    of_paper = [rows(e, tag) for tag in TAGS for e in PAPER_TABLES]
    of_suite = [rows(suite.EXPERIMENT, tag) for tag in TAGS]
    after = of_suite[0] + rows(successors.EXPERIMENT)
    return [
        *(table for own in of_paper for table in tables(own)),
        *suite_tables.ten_folds(of_suite[0], of_paper[0]),
        *(table for own in of_suite for table in suite_tables.tables(own)),
        *successor_tables.tables(after),
    ]


def tables(rows: Sequence[Row]) -> list[Table]:
    """The tables of these rows, without outdated rows."""
    result: list[Table] = []
    every = [row for row in rows if row["experiment"] == table1.EXPERIMENT]
    if first := _in_order(table1.current_rows(every), table1.MODELS):
        outdated = _outdated_note(every, first, trials.TABLE1)
        result += _table1(first, outdated), _label_sets(first)
    layout = _table1_layout(every)
    result += _trial_tables("Table 1", trials.TABLE1, first, every, layout)
    every = [row for row in rows if row["experiment"] == table2.EXPERIMENT]
    if second := _in_order(table2.current_rows(every), table2.MODELS):
        result.append(_table2(second, _outdated_note(every, second, trials.TABLE2)))
    best = table2.best_rate_rows(second)
    layout = TABLE2_LAYOUT
    return [*result, *_trial_tables("Table 2", trials.TABLE2, best, every, layout)]


def _outdated_note(
    every: Sequence[Row], current: Sequence[Row], tried: Sequence[Trial]
) -> str:
    """A sentence on the number of outdated rows, if there are any."""
    known = {key(row) for row in current}
    known |= {cell.key for trial in tried for cell in trial.cells}
    n_outdated = sum(key(row) not in known for row in every)
    return f" {n_outdated} outdated rows are left out." if n_outdated else ""


def _table1(rows: Sequence[Row], outdated: str) -> Table:
    names, models = _by_fold(rows, "hamming")
    missing = [name for name in table1.DATASETS if name not in names]
    note = (
        "Wrong labels of the test cases in percent: mean and standard deviation over "
        "folds, with the number of folds in brackets. Parameters are chosen on the "
        "validation cases of each fold; a refitted model and a committee are also "
        "trained on them. " + COMPARISON.format(over="")
    )
    if missing:
        note += f" There are no runs of {', '.join(missing)}."
    return Table(
        full_title("Table 1: multi-label classification", rows),
        note + outdated,
        names,
        models,
        list(_choices(rows)),
        cost_of(rows),
    )


def _label_sets(rows: Sequence[Row]) -> Table:
    names, models = _by_fold(table1.with_wrong_sets(rows), table1.WRONG_SETS)
    return Table(
        full_title("Whole label sets in the runs of Table 1", rows),
        "Test cases with at least one wrong label, in percent; otherwise as above. "
        "The paper has no such table. Parameters are chosen by single labels.",
        names,
        models,
    )


def _by_fold(rows: Sequence[Row], metric: str) -> tuple[list[str], list[ModelScores]]:
    """The data sets of Table 1, and the scores of each model."""
    layout = _table1_layout(rows, metric)
    return _headings(layout), scores.model_scores(rows, layout, published.TABLE1)


def _table1_layout(rows: Sequence[Row], metric: str = "hamming") -> Layout:
    names = {row["dataset"] for row in rows}
    columns = [Column(name, metric) for name in table1.DATASETS if name in names]
    return Layout(columns, summary.by_fold, "{:.2f}")


TABLE2_LAYOUT = Layout(
    [Column(kind, metric) for kind in table2.KINDS for metric in ("all", "changed")],
    summary.by_block,
    "{:.3f}",
)


def _headings(layout: Layout) -> list[str]:
    """Headings of the columns: the data sets, with the metrics if they differ."""
    several = len({column.metric for column in layout.columns}) > 1
    return [", ".join(each) if several else each.dataset for each in layout.columns]


def _table2(rows: Sequence[Row], outdated: str) -> Table:
    rows = table2.best_rate_rows(rows)
    return Table(
        full_title("Table 2: restoring noisy digits", rows),
        "Wrong pixels of the test digits in percent, among all and among those that "
        "the noise changed: mean and standard deviation over seeds, with the number "
        "of seeds in brackets. "
        + COMPARISON.format(over="over ten parts of the test digits ")
        + outdated,
        _headings(TABLE2_LAYOUT),
        scores.model_scores(rows, TABLE2_LAYOUT, published.TABLE2),
        list(_choices(rows)),
        cost_of(rows),
    )


def _trial_tables(
    name: str,
    variants: Iterable[Trial],
    base_rows: Sequence[Row],
    every: Sequence[Row],
    layout: Layout,
) -> list[Table]:
    """The trials of a table that have rows, below the models that they change."""
    by_key = {key(row): row for row in every}
    finished = [(trial, rows) for trial in variants if (rows := trial.rows(by_key))]
    if not finished:
        return []
    models: list[ModelScores] = []
    for base in dict.fromkeys(trial.base for trial, _ in finished):
        own = [row for row in base_rows if row["model"] == base]
        models.append((base, scores.variant_scores(own, own, layout)))
        for trial, rows in finished:
            if trial.base == base:
                models.append(
                    (f"↳ {trial.change}", scores.variant_scores(rows, own, layout))
                )
    note = (
        f"Models of {name} with one thing changed, each below the original model; "
        "otherwise as above. p compares the two."
    )
    title = f"{name}: other variants"
    cost = cost_of([row for _, rows in finished for row in rows])
    return [Table(title, note, _headings(layout), models, cost=cost)]


def _in_order(rows: Iterable[Row], models: Iterable[str]) -> list[Row]:
    """The rows in the order of the models in their table."""
    positions = {model: i for i, model in enumerate(models)}
    return sorted(rows, key=lambda row: positions.get(row["model"], -1))


def _choices(rows: Iterable[Row]) -> Iterable[tuple[str, str, str]]:
    """How often parameters were chosen, the most frequent first."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        params = row["details"].get("chosen")
        if params is None and "learning_rate" in row["config"]:
            params = {"learning_rate": row["config"]["learning_rate"]}
        if params:
            own_counts = counts.setdefault((row["model"], row["dataset"]), {})
            text = _format_params(params)
            own_counts[text] = own_counts.get(text, 0) + 1
    for (model, dataset), own_counts in counts.items():
        order = sorted(own_counts.items(), key=lambda item: -item[1])
        yield model, dataset, "; ".join(f"{text} ({n} x)" for text, n in order[:3])


def _format_params(params: dict[str, Any]) -> str:
    flat: dict[str, Any] = {}
    for name, value in params.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return ", ".join(f"{name} {_format_value(value)}" for name, value in flat.items())


def _format_value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _inline(path: Path) -> str:
    """A picture as a data URL, for a page without other files."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
