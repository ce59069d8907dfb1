"""The small table of the README: the paper, its protocol here, ours, the strongest.

The opponent is the one with the lowest mean error on the test cases, so it is chosen
with more knowledge than our own model, which is always the same one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from paper.engine.store import Row, Store, key
from paper.report import summary
from paper.report.scores import format_p
from paper.report.suite_tables import ten_fold_rows
from paper.report.summary import Repeats
from paper.tables import ours, published, suite, table1, table2, trials
from paper.tables.published import Column, PublishedScores

HEADINGS = (
    *("wrong, in percent", "paper", "its protocol here", "ours"),
    *("strongest opponent", "p", "folds or seeds"),
)


class Claim(NamedTuple):
    """A line of the table: a model of the paper on one data set, and its rivals.

    Parameters
    ----------
    what
        The first column.
    dataset, metrics
        The data set and the metrics; the first one compares opponents.
    model
        Name of the paper's model.
    ours, opponents
        Names of our models, of which the first with rows is shown, and of the others.
    """

    what: str
    dataset: str
    metrics: Sequence[str]
    model: str
    ours: Sequence[str]
    opponents: Collection[str]


_LABEL_MODELS = (
    "HashCRBM",
    [*ours.MODELS, *table1.OURS],
    [*(name for name in suite.MODELS if name not in ours.MODELS), *table1.BASELINES],
)
_LABELS = (("hamming",), *_LABEL_MODELS)
_SETS = ((table1.WRONG_SETS,), *_LABEL_MODELS)
_NETWORKS = [name for name in table2.MODELS if name.startswith("MLP")]
_PIXELS = (
    ("all", "changed"),
    "CD-PercLoss",
    [name for name in table2.OURS if name not in _NETWORKS],
    _NETWORKS,
)
LABEL_CLAIMS = [
    Claim("labels of Yeast", "yeast", *_LABELS),
    Claim("labels of Scene", "scene", *_LABELS),
    Claim("whole label sets of Yeast", "yeast", *_SETS),
    Claim("whole label sets of Scene", "scene", *_SETS),
]
PIXEL_CLAIMS = [
    Claim("pixels of corrupted digits, all / changed", "corrupted", *_PIXELS),
    Claim("pixels of occluded digits, all / changed", "occluded", *_PIXELS),
]


class Evidence(NamedTuple):
    """The rows of some claims: of all models, and of the paper's model by log loss.

    `repeats` gives the measurements for paired comparisons.
    """

    rows: list[Row]
    by_log_loss: list[Row]
    printed: PublishedScores
    repeats: Repeats


def render(folder: Path) -> str:
    """The table in Markdown, from the rows in `folder`; a dash for missing rows."""
    lines = [_line(HEADINGS), _line(["---"] * len(HEADINGS))]
    for claims, evidence in (
        (LABEL_CLAIMS, _label_evidence(folder)),
        (PIXEL_CLAIMS, _pixel_evidence(folder)),
    ):
        lines += [_line(_cells(claim, evidence)) for claim in claims]
    return "\n".join(lines)


NOTES = """\
- *Its protocol here*: the paper's experiment, repeated, with early stopping by the \
validation error as the paper has it, and by the log loss.
- *Ours*: {ours}
- *Strongest opponent*: of all that we tuned and ran, the one with the lowest mean on \
the test cases. *p* is that of a two-sided paired t-test; above 0.05 it is a tie."""
AUTO = """for labels `AutoClassifier()`, without any parameter: single labels by \
marginals, whole sets by weights that left-out training cases chose. Its parts were \
judged on left-out training cases, but test errors of earlier versions on these folds \
had been seen, those of the first four when its support vector machines were mended."""
COMMITTEE = """for labels a committee of ten HashCRBMs, which answers by single \
labels, also where whole sets are counted. Its narrower kernel was added after test \
errors without it had been seen."""


def notes(folder: Path) -> str:
    """What the columns mean, which depends on the models that were run."""
    rows = _label_evidence(folder).rows
    was_run = all(
        any((r["model"], r["dataset"]) == (model, name) for r in rows)
        for model in ours.MODELS
        for name in suite.TEN_FOLDS
    )
    return NOTES.format(ours=AUTO if was_run else COMMITTEE)


def _label_evidence(folder: Path) -> Evidence:
    rows, compared = (
        list(Store(folder / f"{name}.jsonl"))
        for name in (table1.EXPERIMENT, suite.EXPERIMENT)
    )
    of_paper = [r for r in table1.current_rows(rows) if r["model"] in table1.PAPER]
    by_key = {key(row): row for row in rows}
    [variant] = [
        trial
        for trial in trials.TABLE1
        if (trial.base, trial.change) == ("HashCRBM", trials.BY_LOG_LOSS)
    ]
    return Evidence(
        [*table1.with_wrong_sets(of_paper), *ten_fold_rows(compared, rows)],
        table1.with_wrong_sets(variant.rows(by_key)),
        published.TABLE1,
        summary.by_fold,
    )


def _pixel_evidence(folder: Path) -> Evidence:
    rows = table2.best_rate_rows(list(Store(folder / f"{table2.EXPERIMENT}.jsonl")))
    return Evidence(rows, [], published.TABLE2, summary.by_block)


def _cells(claim: Claim, evidence: Evidence) -> list[str]:
    rows = [row for row in evidence.rows if row["dataset"] == claim.dataset]
    printed = evidence.printed[claim.model]
    columns = [Column(claim.dataset, metric) for metric in claim.metrics]
    own = next((name for name in claim.ours if _of(rows, name)), None)
    other = _strongest(rows, claim)
    return [
        claim.what,
        _format_errors([printed[c] for c in columns if c in printed], claim),
        _protocol(rows, claim, evidence),
        _errors_with_name(rows, own, claim),
        _errors_with_name(rows, other, claim),
        _p_values(rows, own, other, claim, evidence.repeats),
        _run_counts(rows, [claim.model, own, other]),
    ]


def _of(rows: Sequence[Row], model: str | None) -> list[Row]:
    return [row for row in rows if row["model"] == model]


def _strongest(rows: Sequence[Row], claim: Claim) -> str | None:
    """The opponent with the lowest mean error; None without rows."""
    errors = {
        model: _means(own, claim)[0]
        for model in claim.opponents
        if (own := _of(rows, model))
    }
    return min(errors, key=lambda model: errors[model], default=None)


def _protocol(rows: Sequence[Row], claim: Claim, evidence: Evidence) -> str:
    """The paper's model here; tuned by the log loss as well, where that was run."""
    text = _format_errors(_means(_of(rows, claim.model), claim), claim)
    variant = [r for r in evidence.by_log_loss if r["dataset"] == claim.dataset]
    if not variant:
        return text
    return f"{text} ({_format_errors(_means(variant, claim), claim)} by log loss)"


def _errors_with_name(rows: Sequence[Row], model: str | None, claim: Claim) -> str:
    if model is None:
        return "-"
    errors = _format_errors(_means(_of(rows, model), claim), claim)
    return f"{errors} ({model.removesuffix(' (ours)')})"


def _p_values(
    rows: Sequence[Row],
    own: str | None,
    other: str | None,
    claim: Claim,
    repeats: Repeats,
) -> str:
    """Of paired t-tests between the two, one for each metric."""
    if own is None or other is None:
        return "-"
    texts = []
    for metric in claim.metrics:
        one, two = (
            summary.summarise_runs(_of(rows, name), metric, repeats).repeats
            for name in (own, other)
        )
        texts.append(format_p(summary.p_value(one, two)).removeprefix("p ") or "-")
    return " / ".join(text.removeprefix("= ") for text in texts)


def _run_counts(rows: Sequence[Row], models: Collection[str | None]) -> str:
    """The number of runs per model: one number, or the smallest and the largest."""
    counts = {len(_of(rows, model)) for model in models if model}
    least, most = min(counts), max(counts)
    return str(most) if least == most else f"{least} to {most}"


def _means(rows: Sequence[Row], claim: Claim) -> list[float]:
    runs = [row["metrics"] for row in rows]
    return [fmean(run[metric] for run in runs) for metric in claim.metrics if runs]


def _format_errors(means: Sequence[float], claim: Claim) -> str:
    form = "{:.2f}" if len(claim.metrics) == 1 else "{:.3f}"
    return " / ".join(form.format(mean) for mean in means) or "-"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
