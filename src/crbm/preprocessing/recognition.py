"""Recognise the kind of each column: number, category, text, date or id."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from crbm.preprocessing import words
from crbm.preprocessing.table import Column, Table

KINDS = ("number", "boolean", "categorical", "text", "date")
FEWEST_ROWS = 10  # shorter columns are never recognised as ids
MOST_REPEATS = 0.05  # largest share of repeated values in an id
NEARLY_ALL = 0.9  # with this share of numbers, other values are taken as mistakes
WORDS_OF_TEXT = 3  # texts have more words than this on average
MOST_LEVELS = 50  # longer lists of categories with so many words are texts
_ID_NAME = re.compile(r"(^|.*[\W_])(?i:id|uuid|guid|index|row|key)|.*[a-z]I[dD]")
NUMBERING = "it numbers the rows"
ALL_DIFFERENT = "nearly every value is different, as in an id"
OF_IDS = (NUMBERING, ALL_DIFFERENT)
_COUNTER_STARTS = (0, 1)


class Recognised(NamedTuple):
    """What a column is read as, with the format of its dates or its decimal point.

    A column without a kind is left out, for the `reason` given.
    """

    kind: str | None
    form: str = ""
    reason: str = ""
    note: str = ""


def recognise(table: Table, name: str) -> Recognised:
    """What the column `name` of a table is.

    Examples
    --------
    >>> rows = [{"joined": "03.04.2024"}, {"joined": "17.04.2024"}]
    >>> recognise(Table.from_records(rows), "joined")
    Recognised(kind='date', form='%d.%m.%Y', reason='', note='')
    """
    column = table[name]
    missing = column.is_missing()
    if column.kind == "list":
        raise ValueError(
            f"Column `{name}` holds lists. Name it as the labels, or drop it."
        )
    if missing.all():
        return Recognised(None, reason="it has no values")
    role = table.roles.get(name)
    if role is not None:
        return Recognised(role)
    if len(table) > 1 and not missing.any() and _is_constant(column):
        return Recognised(None, reason="all of its values are the same")
    if column.kind == "string":
        return _recognise_strings(table, name, column)
    if column.kind == "number" and _is_numbering(name, column.values):
        return Recognised(None, reason=NUMBERING)
    if column.kind == "number" and table.decimal == ",":
        return Recognised("number", ",")
    return Recognised(column.kind)


def _recognise_strings(table: Table, name: str, column: Column) -> Recognised:
    values = column.values
    n_values = len(values) - int(column.is_missing().sum())
    if not words.yes_no(values).n_failed:
        return Recognised("boolean")
    as_numbers, decimal = words.best_numbers(values, table.decimal)
    _refuse_mistakes(table, name, as_numbers, n_values, "number")
    if not as_numbers.n_failed:
        return _recognise_number_words(name, as_numbers.values, decimal)
    as_dates, form = words.best_dates(values)
    _refuse_mistakes(table, name, as_dates, n_values, "date")
    if not as_dates.n_failed:
        return Recognised("date", form, note=_note_on_order(values, form))
    return _recognise_words([value for value in values if value is not None])


def _recognise_number_words(name: str, values: np.ndarray, decimal: str) -> Recognised:
    if np.isnan(values).all():
        return Recognised(None, reason="it has no values")
    if _is_numbering(name, values):
        return Recognised(None, reason=NUMBERING)
    return Recognised("number", decimal)


def _recognise_words(values: list[str]) -> Recognised:
    n_distinct = len(set(values))
    mean_words = sum(len(value.split()) for value in values) / len(values)
    if mean_words > WORDS_OF_TEXT and n_distinct > min(len(values) / 2, MOST_LEVELS):
        return Recognised("text")
    if len(values) >= FEWEST_ROWS and n_distinct >= (1 - MOST_REPEATS) * len(values):
        return Recognised(None, reason=ALL_DIFFERENT)
    return Recognised("categorical")


def _refuse_mistakes(
    table: Table, name: str, parsed: words.Parsed, n_values: int, what: str
) -> None:
    """Refuse a few words among many numbers: they would hide what the column is."""
    n_good = n_values - parsed.n_failed
    if not parsed.n_failed or n_good < NEARLY_ALL * n_values:
        return
    row = int(np.flatnonzero(parsed.failed)[0])
    raise ValueError(
        f"{table.place(row)}, column `{name}`: {table[name].values[row]!r} is not a "
        f"{what}, but {n_good} of {n_values} values are. Correct it, or name the "
        "column as categorical."
    )


def _note_on_order(values: np.ndarray, form: str) -> str:
    if not words.is_ambiguous(values, form):
        return ""
    first = next(value for value in values if value is not None)
    return f"dates such as {first} are read with the day first"


def _is_constant(column: Column) -> bool:
    return bool((column.values == column.values[0]).all())


def _is_numbering(name: str, values: np.ndarray) -> bool:
    """Whether whole numbers count the rows, or all differ under the name of an id."""
    if len(values) < FEWEST_ROWS or not (values == np.floor(values)).all():
        return False
    counts = values[0] in _COUNTER_STARTS and bool((np.diff(values) == 1).all())
    is_id = _ID_NAME.fullmatch(name) is not None and len(np.unique(values)) == len(
        values
    )
    return counts or is_id
