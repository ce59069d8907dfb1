"""Names of the columns of a table, and what its file has beside data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from crbm.preprocessing import Table


def finish(
    table: Table,
    names: list[str],
    where: Callable[[int], str],
    notes: tuple[str, ...] = (),
) -> Table:
    """The table with these names, without empty columns and rows at its end.

    A first column without a name that counts the rows is the index of a frame and is
    left out; any other column without a name is called after its place.
    """
    columns = dict(zip(names, table.columns.values(), strict=False))
    if len(set(names)) < len(names):  # several without a name
        columns = dict(zip(_fill_names(names), table.columns.values(), strict=True))
    table = replace(table, columns=columns, where=where, notes=notes)
    return _without_nameless(_without_empty_rows(table))


def _fill_names(names: list[str]) -> list[str]:
    return [name or f"column {place}" for place, name in enumerate(names, start=1)]


def _without_nameless(table: Table) -> Table:
    columns, notes = {}, list(table.notes)
    for place, (name, column) in enumerate(table.columns.items(), start=1):
        is_nameless = name in ("", f"column {place}")
        if is_nameless and column.is_missing().all():
            continue
        if is_nameless and place == 1 and _counts(column.values):
            notes.append("the first column has no name and numbers the rows: left out")
            continue
        columns[name or f"column {place}"] = column
    return replace(table, columns=columns, notes=tuple(notes))


def _without_empty_rows(table: Table) -> Table:
    """Spreadsheets write rows of separators alone below the last one."""
    filled = np.zeros(len(table), dtype=bool)
    for column in table.columns.values():
        filled |= ~column.is_missing()
    n_rows = int(np.flatnonzero(filled).max(initial=-1)) + 1
    return table if n_rows == len(table) else table[:n_rows]


def _counts(values: np.ndarray) -> bool:
    """Whether values are whole and distinct, as an index of some rows of a frame."""
    if values.dtype.kind != "f" or not (values == np.floor(values)).all():
        return False
    return len(np.unique(values)) == len(values)
