"""The tables of the suite: ranks, every measure on every data set, and ten folds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from crbm import plotting
from paper.engine.judging import LOWER
from paper.engine.store import Row
from paper.report import ranks, scores, summary
from paper.report.ranks import Ranking
from paper.report.scores import Layout, Score
from paper.report.table import Table, cost_of, full_title
from paper.tables import ours, suite, table1
from paper.tables.published import Column

# Shown with a table and a diagram each; the others have mean ranks only.
SHOWN = ("hamming", "subset", "example_f1", "log_loss")
TITLES = {
    "hamming": "Wrong labels, percent",
    "subset": "Label sets entirely right, percent",
    "example_f1": "Example F1, percent",
    "log_loss": "Log loss of single labels, nats",
}
TEN_FOLDS = "Ten folds of Yeast and Scene"


def tables(rows: Sequence[Row]) -> list[Table]:
    """The tables of these rows, which are all quick or all not."""
    rows = suite.current_rows(rows)
    if not rows:
        return []
    first_folds = _first_folds(rows)
    return [*rank_tables(rows), *(_scores(first_folds, name) for name in SHOWN)]


def rank_tables(rows: Sequence[Row]) -> list[Table]:
    """Mean ranks of all models on few data sets, and of some on all that ours has."""
    rows = _first_folds(suite.current_rows(rows))
    own = {row["dataset"] for row in rows if row["model"] in ours.MODELS}
    parts = [_of_few_labels(rows), [row for row in rows if row["dataset"] in own]]
    names = [{row["dataset"] for row in part} for part in parts]
    if names[0] == names[1]:
        parts = parts[1:]
    return [_ranks(part) for part in parts if part]


def _first_folds(rows: Sequence[Row]) -> list[Row]:
    """The rows of the folds that every model is run on."""
    return [
        row
        for row in rows
        if row["fold"] < suite.splits(row["config"]["quick"])[row["dataset"]]
    ]


def _of_few_labels(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["dataset"] in suite.FEW_LABELS]


def _ranks(rows: Sequence[Row]) -> Table:
    rankings = {name: ranks.ranking(rows, name) for name in ranks.MEASURES}
    models = rankings["hamming"].models
    lines = []
    for model in sorted(models, key=lambda m: _overall(rankings, m)):
        places = [_place(rankings[name], model) for name in ranks.MEASURES]
        shown: list[Score | None] = [
            Score(f"{place:.2f}", "", 0, "", best=place == min(rankings[name].ranks))
            for place, name in zip(places, ranks.MEASURES, strict=True)
        ]
        lines.append((model, shown))
    any_ranking = rankings["hamming"]
    p_values = ""
    if len(models) > 2:  # Friedman's test needs three
        listed = ", ".join(f"{name} {rankings[name].p_value:.2g}" for name in SHOWN)
        p_values = f"p of Friedman's test: {listed}. "
    names = ", ".join(sorted({row["dataset"] for row in rows}))
    note = (
        f"Mean ranks over {any_ranking.n_datasets} data sets ({names}), 1 is best, "
        f"among the {len(models)} models that were run on all of them; the best in "
        f"bold. Mean ranks that differ by less than {any_ranking.difference:.2f} are "
        f"not told apart (Nemenyi, 95 %). {p_values}{_left_out(rows)}"
    )
    title = full_title("The suite: mean ranks", rows)
    return Table(title, note, ranks.MEASURES, lines, cost=cost_of(rows))


def _left_out(rows: Sequence[Row]) -> str:
    """Which declared runs have no row, and why."""
    quick = rows[0]["config"]["quick"]
    names = sorted({row["dataset"] for row in rows})
    done = {(row["model"], row["dataset"]) for row in rows}
    parts = []
    for model in suite.models(quick):
        lacking = [name for name in names if (model, name) not in done]
        if lacking:
            reasons = {suite.left_out(name, model) or "not run" for name in lacking}
            parts.append(
                f"{model} on {', '.join(lacking)} ({'; '.join(sorted(reasons))})"
            )
    return f"Not run: {'; '.join(parts)}." if parts else ""


def _overall(rankings: dict[str, Ranking], model: str) -> float:
    return fmean(_place(rankings[name], model) for name in SHOWN)


def _place(ranking: Ranking, model: str) -> float:
    return ranking.ranks[ranking.models.index(model)]


def _scores(rows: Sequence[Row], measure: str) -> Table:
    quick = rows[0]["config"]["quick"]
    done = {row["dataset"] for row in rows}
    names = [name for name in suite.splits(quick) if name in done]
    lines: list[tuple[str, list[Score | None]]] = []
    sign = 1 if measure in LOWER else -1
    values = {
        (row["model"], row["dataset"]): [
            other["metrics"][measure]
            for other in rows
            if (other["model"], other["dataset"]) == (row["model"], row["dataset"])
        ]
        for row in rows
    }
    for model in suite.models(quick):
        shown: list[Score | None] = []
        for name in names:
            own = values.get((model, name))
            best = min(sign * fmean(v) for (_, n), v in values.items() if n == name)
            shown.append(
                None if own is None else _score(own, measure, sign * fmean(own) <= best)
            )
        lines.append((model, shown))
    note = "Mean and standard deviation over folds, with their number; best in bold."
    return Table(full_title(f"The suite: {TITLES[measure]}", rows), note, names, lines)


def _score(values: Sequence[float], measure: str, best: bool) -> Score:
    form = "{:.4f}" if measure == "log_loss" else "{:.2f}"
    spread = form.format(stdev(values)) if len(values) > 1 else ""
    return Score(form.format(fmean(values)), spread, len(values), "", best=best)


def ten_fold_rows(suite_rows: Sequence[Row], table1_rows: Sequence[Row]) -> list[Row]:
    """Ours and all opponents that were run on ten folds of Yeast and Scene.

    The folds of the suite are those of Table 1, so rows of both can be compared.
    """
    rows = [row for row in suite.current_rows(suite_rows) if not row["config"]["quick"]]
    wanted = {*table1.BASELINES, *table1.OURS}
    rows += [row for row in table1.current_rows(table1_rows) if row["model"] in wanted]
    rows = [row for row in rows if row["dataset"] in suite.TEN_FOLDS]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if not row["config"].get("quick"):
            groups.setdefault((row["model"], row["dataset"]), []).append(row)
    complete = [g for g in groups.values() if len(g) == table1.N_FOLDS]
    return table1.with_wrong_sets(row for group in complete for row in group)


def ten_folds(suite_rows: Sequence[Row], table1_rows: Sequence[Row]) -> list[Table]:
    """Wrong labels and wrong sets over ten folds, with p-values."""
    rows = ten_fold_rows(suite_rows, table1_rows)
    if not rows:
        return []
    names = [
        name for name in suite.TEN_FOLDS if any(r["dataset"] == name for r in rows)
    ]
    columns = [
        Column(name, metric)
        for metric in ("hamming", table1.WRONG_SETS)
        for name in names
    ]
    layout = Layout(columns, summary.by_fold, "{:.2f}")
    note = (
        "Wrong labels, and label sets with at least one wrong label, in percent: mean "
        "and standard deviation over the folds of Table 1. Models of the suite answer "
        "for each measure, the others by single labels. p compares with the lowest "
        "mean (two-sided paired t-test); bold: not told apart from it at 95 %."
    )
    headings = [", ".join(column) for column in columns]
    return [Table(TEN_FOLDS, note, headings, scores.model_scores(rows, layout, {}))]


def draw(rows: Sequence[Row]) -> Any:
    """Critical-difference diagrams of the measures of `SHOWN`, one above the other."""
    rows = _first_folds(suite.current_rows(rows))
    rows = _of_few_labels(rows) or rows
    figure = plotting.new_figure(9.0, 2.3 * len(SHOWN))
    for ax, name in zip(figure.subplots(len(SHOWN)), SHOWN, strict=True):
        diagram(ranks.ranking(rows, name), ax)
        ax.set_title(TITLES[name].partition(",")[0], fontsize="medium", loc="left")
    return figure


def diagram(ranking: Ranking, ax: Any) -> None:
    """A critical-difference diagram: a line joins models that are not told apart."""
    n_models = len(ranking.models)
    ax.set(xlim=(0.9, n_models + 0.1), ylim=(-0.55 * n_models - 0.6, 1.1))
    ax.xaxis.tick_top()
    ax.set_xticks(range(1, n_models + 1))
    ax.set_yticks([])
    for side in ("left", "right", "bottom"):
        ax.spines[side].set_visible(False)
    half = (n_models + 1) // 2
    for place, (model, rank) in enumerate(
        zip(ranking.models, ranking.ranks, strict=True)
    ):
        left = place < half
        depth = -1.2 - (place if left else n_models - 1 - place)
        edge = 0.9 if left else n_models + 0.1
        ax.plot([rank, rank, edge], [0.9, depth, depth], color="0.35", linewidth=0.8)
        text = f"{model} {rank:.2f}" if left else f"{rank:.2f} {model}"
        weight = "bold" if model in ours.MODELS else "normal"
        ax.annotate(
            text,
            (edge, depth),
            xytext=(-4 if left else 4, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize="small",
            fontweight=weight,
            annotation_clip=False,
        )
    for number, (first, last) in enumerate(ranking.cliques()):
        ends = [ranking.ranks[first] - 0.05, ranking.ranks[last] + 0.05]
        ax.plot(ends, [0.55 - 0.4 * number] * 2, color="black", linewidth=3)
    ax.set_ylim(-1.2 - half, 1.1)
