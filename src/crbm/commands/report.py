"""The page that `crbm train` writes beside a model, in one file without links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files as resources
from pathlib import Path
from string import Template
from typing import Any

from crbm import metrics, paths
from crbm.commands import html, inspect
from crbm.commands.assessment import Assessment
from crbm.commands.measures import label_measures
from crbm.estimators import AutoClassifier, LabelSetClassifier, files

COLUMNS = {
    "hamming_error": "wrong labels",
    "subset_accuracy": "right sets",
    "example_f1": "F1",
    "macro_f1": "macro F1",
    "label_log_loss": "log loss",
}
# The measures of which less is better.
LOSSES = ("hamming_error", "label_log_loss")
N_PAIRS = 8


def path_of(model: Path) -> Path:
    """The page's file: `m.report.html` for `m.safetensors`.

    Examples
    --------
    >>> path_of(Path("models/m.safetensors")).as_posix()
    'models/m.report.html'
    """
    return model.with_name(f"{model.stem}.report.html")


def write(
    path: Path,
    classifier: LabelSetClassifier,
    assessment: Assessment | None,
    notices: Sequence[str],
) -> None:
    """Write the page."""
    write_page(path, render(classifier, assessment, notices))


def write_page(path: Path, page: str) -> None:
    """Write a page; the file is complete whenever it exists."""
    with paths.replacing(path) as draft:
        draft.write_text(page, encoding="utf-8")


def render(
    classifier: LabelSetClassifier,
    assessment: Assessment | None,
    notices: Sequence[str],
) -> str:
    """The page as a string."""
    described = files.description(classifier)
    data = described["fitted"].get("trained_on_", {})
    name = escape(str(data.get("name") or "unnamed data"))
    facts = described["parameters"] | described["versions"]
    return fill_page(
        title=f"{described['class']} on {name}",
        subtitle=_subtitle(classifier, data),
        notices=notices,
        scores=_scores(assessment),
        calibration=_calibration(assessment),
        couplings=_couplings(classifier),
        labels=_labels(classifier, assessment),
        tried=_tried(classifier),
        parameters=facts,
    )


def fill_page(
    *,
    notices: Sequence[str],
    parameters: Mapping[str, Any],
    calibration: str = "",
    couplings: str = "",
    **sections: str,
) -> str:
    """The page with its sections filled in."""
    template = resources("crbm.commands").joinpath("report.html").read_text("utf-8")
    items = "".join(f"<li>{html.sentence(notice)}</li>" for notice in notices)
    return Template(template).substitute(
        notices=f'<ul class="notices">{items}</ul>' if items else "",
        parameters=html.facts(parameters),
        calibration=calibration,
        couplings=couplings,
        **sections,
    )


def titled(scores: Mapping[str, float]) -> dict[str, str]:
    """The measures under the titles of their columns, shares in percent.

    Examples
    --------
    >>> titled(dict.fromkeys(COLUMNS, 0.125))["right sets"]
    '12.50 %'
    """
    return {
        title: f"{scores[key]:.4f}" if key == "label_log_loss" else percent(scores[key])
        for key, title in COLUMNS.items()
    }


def percent(share: float) -> str:
    """A share as text."""
    return f"{100 * share:.2f} %"


def _subtitle(classifier: LabelSetClassifier, data: Mapping[str, Any]) -> str:
    n_cases = data.get("n_cases", "?")
    return (
        f"{n_cases} cases, {classifier.n_features_in_} inputs, "
        f"{classifier.n_labels_} labels, {len(classifier.label_sets_)} label sets."
    )


def _scores(assessment: Assessment | None) -> str:
    if assessment is None:
        return held_out_section("rows", None)
    found = assessment.scores()
    table = scores_table(
        {name: titled(scores) for name, scores in found.items()},
        own=assessment.model,
        best=_best(found.values()),
    )
    counts = len(assessment.truth), assessment.n_train
    return held_out_section("rows", counts, table)


def held_out_section(
    cases: str, counts: tuple[int, int] | None, table: str = "", remark: str = ""
) -> str:
    """The section on the held-out cases.

    Parameters
    ----------
    cases
        "rows" or "images".
    counts
        How many were held out, and how many the answers were learned from; None if none
        were held out.
    table, remark
        The scores, and a sentence about them.
    """
    if counts is None:
        return f"<h2>Held-out {cases}</h2><p>No {cases} were held out.</p>"
    n_cases, n_train = counts
    held_out = cases if n_cases > 1 else cases.removesuffix("s")
    return (
        f"<h2>{n_cases} held-out {held_out}</h2><p>Each answer was learned from the "
        f"other {n_train} {cases}. The saved model has learned from all of them. "
        f"{remark}</p>{table}"
    )


def scores_table(
    scores: Mapping[str, Mapping[str, str]], *, own: str, best: Mapping[str, str]
) -> str:
    """The scores of each answer as a table; the row of `own` stands out."""
    return html.table(
        [{"": name, **of_it} for name, of_it in scores.items()],
        row_class=lambda row: "own" if row[""] == own else "",
        best=best,
    )


def _best(scores: Iterable[Mapping[str, float]]) -> dict[str, str]:
    """The best value of each column, as it is printed."""
    found = list(scores)
    choose = {key: min if key in LOSSES else max for key in COLUMNS}
    return titled({key: choose[key](s[key] for s in found) for key in COLUMNS})


def _calibration(assessment: Assessment | None) -> str:
    if assessment is None:
        return ""
    p = assessment.answers[assessment.model].probabilities
    curve = metrics.reliability_curve(assessment.truth, p)
    error = metrics.expected_calibration_error(assessment.truth, p)
    return (
        f"<section><h2>Calibration</h2><figure>{html.calibration_curve(curve)}"
        "<figcaption>How often labels were present, against how likely the model "
        f"called them. They differ by {100 * error:.1f} points on average.</figcaption>"
        "</figure></section>"
    )


def _couplings(classifier: LabelSetClassifier) -> str:
    if not inspect.is_coupled(classifier):
        return ""
    strength = inspect.label_couplings(classifier)
    pairs = inspect.strongest_pairs(strength, classifier.label_names_, N_PAIRS)
    rows = [
        {"labels": f"{one}, {other}", "log odds ratio": f"{value:+.2g}"}
        for kind in ("attract", "exclude")
        for one, other, value in pairs[kind]
    ]
    return (
        "<section><h2>Strongest couplings</h2>"
        '<p class="quiet">Above 0, the presence of one label makes the other more '
        f"likely, beyond what the inputs say.</p>{html.table(rows)}</section>"
    )


def _labels(classifier: LabelSetClassifier, assessment: Assessment | None) -> str:
    if assessment is None or hasattr(classifier, "output_shape_"):
        return ""
    answer = assessment.answers[assessment.model]
    rows = label_measures(
        classifier.label_names_, assessment.truth, answer.labels, answer.probabilities
    )
    shown = [
        {
            "label": row["label"],
            "present": row["n_present"],
            "predicted": row["n_predicted"],
            "wrong": percent(row["error"]),
            "precision": percent(row["precision"]) if row["n_predicted"] else None,
            "recall": percent(row["recall"]) if row["n_present"] else None,
            "F1": percent(row["f1"]),
            "log loss": f"{row['log_loss']:.4f}",
        }
        for row in rows
    ]
    table = html.table(
        shown,
        row_class=lambda r: "missed" if r["present"] and not r["predicted"] else "",
    )
    return f"<h2>Labels of the held-out rows</h2>{table}"


def _tried(classifier: LabelSetClassifier) -> str:
    title = "What was tried" if isinstance(classifier, AutoClassifier) else "Training"
    return f"<h2>{title}</h2>{html.table(inspect.describe(classifier)['training'])}"
