"""Columns as the numbers, dates, levels or texts that were learned from."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from crbm.messages import one_line
from crbm.preprocessing import words
from crbm.preprocessing.table import Column, Table, text_of


class WrongValueError(ValueError):
    """A value that its column cannot hold.

    Parameters
    ----------
    place
        Where its row is.
    problem
        The column, the value, and what is wrong with it.
    """

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}, {problem}")
        self.problem = problem


LARGEST = float(np.finfo(np.float32).max)
ADVICE = "Binarise it, or give the separator if it is a set of labels."
_BINARY_WORDS = {**words.YES_NO, "1": 1.0, "0": 0.0, "+": 1.0, "-": 0.0, "+1": 1.0}


def to_numbers(table: Table, name: str, decimal: str = ".") -> np.ndarray:
    """The column as finite numbers, NaN where one is missing."""
    kind, values = table[name]
    if kind == "string":
        parsed = words.numbers(values, decimal or ".")
        _refuse(table, name, parsed.failed, "is not a number")
        values = parsed.values
    elif kind not in ("number", "boolean"):
        _refuse(table, name, ~table[name].is_missing(), "is not a number")
    _refuse(table, name, np.isinf(values), "is not a finite number")
    _refuse(table, name, np.abs(values) > LARGEST, "is too large", "Rescale it.")
    return np.asarray(values, dtype=np.float64)


def to_booleans(table: Table, name: str) -> np.ndarray:
    """The column as 0 and 1, NaN where a value is missing."""
    kind, values = table[name]
    if kind == "string":
        parsed = words.yes_no(values)
        _refuse(table, name, parsed.failed, "is neither yes nor no")
        return parsed.values
    good = np.isin(values, (0, 1)) if kind in ("number", "boolean") else False
    bad = ~(table[name].is_missing() | good)
    _refuse(table, name, bad, "is neither yes nor no")
    return np.asarray(values, dtype=np.float64)


def to_labels(table: Table, name: str) -> np.ndarray:
    """The column as 0 and 1, written in any of the usual ways; NaN where missing.

    Examples
    --------
    >>> rows = [{"dog": "yes"}, {"dog": None}, {"dog": "-"}]
    >>> to_labels(Table.from_records(rows), "dog")
    array([ 1., nan,  0.])
    """
    column = table[name]
    if column.kind == "string":
        texts = text_of(column)
        found = [np.nan if t is None else _label_of(t) for t in texts]
        values = np.array([np.nan if f is None else f for f in found])
        bad = np.array([f is None for f in found], dtype=bool)
    elif column.kind in ("number", "boolean"):
        values = np.where(column.values == -1, 0.0, column.values)
        bad = ~(np.isin(values, (0, 1)) | np.isnan(values))
    else:
        values, bad = np.zeros(len(table)), ~column.is_missing()
    _refuse(table, name, bad, "is not 0 or 1, yes or no", ADVICE)
    return np.asarray(values, dtype=np.float64)


def to_classes(table: Table, name: str) -> np.ndarray:
    """The column as classes: whole numbers or trimmed texts; None or NaN where missing.

    A column of yes and no with single other values is refused, as those are likely to
    be mistakes; so is one whose values hardly ever repeat.

    Examples
    --------
    >>> rows = [{"animal": "cat"}, {"animal": None}, {"animal": "dog "}]
    >>> to_classes(Table.from_records(rows), "animal")
    array(['cat', None, 'dog'], dtype=object)
    """
    column = table[name]
    if column.kind in ("number", "boolean"):
        values = np.asarray(column.values, dtype=np.float64)
        fraction = values != np.round(values)
        _refuse(table, name, fraction & ~np.isnan(values), "is not a class", REAL)
        texts = text_of(column)
    elif column.kind == "string":
        values = to_levels(table, name)
        values[values == ""] = None
        texts = values
    else:
        _refuse(table, name, ~column.is_missing(), "is not a class")
        return np.full(len(table), None)
    _refuse_mistakes(table, name, texts)
    return values


REAL = "Round it, or predict numbers with CRBMRegressor."


def _refuse_mistakes(table: Table, name: str, texts: np.ndarray) -> None:
    counts = Counter(text for text in texts if text is not None)
    words = [text for text in counts if _label_of(text) is not None]
    others = [text for text in counts if _label_of(text) is None]
    if words and others and max(counts[text] for text in others) == 1:
        bad = np.isin(texts, others)
        _refuse(table, name, bad, "is not 0 or 1, yes or no", ADVICE)
    if len(counts) > 20 and len(counts) > sum(counts.values()) / 2:
        advice = f"{len(counts)} different values are too many for classes. {ADVICE}"
        _refuse(table, name, texts != None, "is not a class", advice)  # noqa: E711


def _label_of(text: str) -> float | None:
    word = text.strip().lower()
    if not word:
        return np.nan
    if word in _BINARY_WORDS:
        return _BINARY_WORDS[word]
    try:
        number = float(word)
    except ValueError:
        return None
    return {0.0: 0.0, 1.0: 1.0, -1.0: 0.0}.get(number)


def to_dates(table: Table, name: str, form: str) -> np.ndarray:
    """The column as datetime64, NaT where a date is missing."""
    kind, values = table[name]
    if kind == "string":
        parsed = words.dates(values, form)
        _refuse(table, name, parsed.failed, "is not a date, as 2024-01-31 is")
        return parsed.values
    if kind != "date":
        _refuse(table, name, ~table[name].is_missing(), "is not a date")
        return np.full(len(table), np.datetime64("NaT", "us"))
    return values


def to_levels(table: Table, name: str) -> np.ndarray:
    """The column as trimmed strings, None where a level is missing."""
    found = np.empty(len(table), dtype=object)
    found[:] = [None if t is None else t.strip() for t in text_of(table[name])]
    return found


def to_texts(table: Table, name: str) -> list[str]:
    """The column as strings, empty where a text is missing."""
    return [text or "" for text in text_of(table[name])]


def _refuse(
    table: Table, name: str, bad: Any, problem: str, advice: str = "Correct it."
) -> None:
    if not np.any(bad):
        return
    row = int(np.flatnonzero(bad)[0])
    kind, values = table[name]
    value = text_of(Column(kind, values[row : row + 1]))[0]
    found = f"column `{name}`: {value!r:.60} {problem}. {advice}"
    raise WrongValueError(table.place(row), one_line(found))
