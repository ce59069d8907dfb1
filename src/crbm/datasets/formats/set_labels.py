"""One column that holds the set of labels of each row."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from crbm.datasets.dataset import Array
from crbm.preprocessing import Table
from crbm.preprocessing.table import objects
from crbm.preprocessing.words import NO_VALUE

_LIST = re.compile(r"\[.*\]|\{.*\}|\(.*\)", re.DOTALL)
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


def from_sets(
    table: Table, column: str, separator: str | None, names: Sequence[str] | None = None
) -> tuple[Array, list[str]]:
    """Labels as 0 and 1, or NaN, and their names.

    A list that is missing, or a word such as "n/a", leaves its row's labels unknown; an
    empty text is the empty set. With `names`, other labels are left out.

    Examples
    --------
    >>> table = Table.from_records([{"is": "dog; big"}, {"is": ""}, {"is": "cat"}])
    >>> from_sets(table, "is", ";")
    (array([[1., 0., 1.],
           [0., 0., 0.],
           [0., 1., 0.]]), ['big', 'cat', 'dog'])
    """
    sets = [_members(value, separator) for value in _values(table, column, separator)]
    found = sorted({name for members in sets if members for name in members})
    labels = found if names is None else list(names)
    places = {name: place for place, name in enumerate(labels)}
    values = np.zeros((len(sets), len(labels)))
    for row, members in enumerate(sets):
        if members is None:
            values[row] = np.nan
        else:
            known = [places[name] for name in members if name in places]
            values[row, known] = 1
    return values, labels


def holds_lists(table: Table, column: str) -> bool:
    """Whether a column holds lists, or texts such as "['dog', 'big']" alone.

    pandas writes lists into CSV files in this way.
    """
    kind, values = table[column]
    if kind == "list":
        return True
    texts = [value for value in values if value is not None] if kind == "string" else []
    return bool(texts) and all(_LIST.fullmatch(text.strip()) for text in texts)


def note_on_separator(table: Table, column: str, separator: str | None) -> str:
    """A notice if no text of the column has the separator, else nothing."""
    kind, values = table[column]
    if separator is None or kind != "string" or holds_lists(table, column):
        return ""
    texts = [value for value in values if value is not None]
    if any(separator in text for text in texts):
        return ""
    other = likely_separator(texts)
    hint = f" Is it {other!r}?" if other else ""
    return (
        f"no value of column `{column}` has the separator {separator!r}, so each is "
        f"one label.{hint}"
    )


def likely_separator(texts: Sequence[str]) -> str | None:
    """What stands between the labels of texts, if they look like sets of labels.

    Their parts repeat, so that there are fewer of them than texts.

    Examples
    --------
    >>> likely_separator(["cat;dog", "dog", "cow;cat", "cow;dog"])
    ';'
    >>> likely_separator(["cat", "dog"]), likely_separator(["a, b", "c, d"])
    (None, None)
    """
    distinct = set(texts)
    for mark in (";", "|", ","):
        parts = {part.strip() for text in distinct for part in text.split(mark)}
        if any(mark in text for text in distinct) and len(parts) < len(distinct):
            return mark
    return None


def _values(table: Table, column: str, separator: str | None) -> Array:
    kind, values = table[column]
    expected = "list" if separator is None else "string"
    if holds_lists(table, column):
        return objects([_listed(value) for value in values])
    if kind == expected:
        return values
    raise ValueError(
        f"{table.place(0)}, column `{column}`: sets of labels are lists, or texts with "
        f"a separator; this is a column of the kind {kind}."
    )


def _listed(value: object) -> object:
    """A list written as text as such."""
    if not isinstance(value, str):
        return value
    inner = value.strip()[1:-1]
    quoted = _QUOTED.findall(inner)
    found = [a or b for a, b in quoted] if quoted else inner.split(",")
    return [name.strip() for name in found if name.strip()]


def _members(value: object, separator: str | None) -> set[str] | None:
    if isinstance(value, list):
        return {str(name) for name in value if name is not None}
    if value is None:
        return None if separator is None else set()
    if str(value).strip().lower() in NO_VALUE - {""}:
        return None
    return {name.strip() for name in str(value).split(separator) if name.strip()}
