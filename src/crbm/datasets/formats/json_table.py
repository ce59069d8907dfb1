"""Read JSON lines: one object per line, or one array of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from crbm.datasets.formats._common import file_error, read_text
from crbm.messages import one_line
from crbm.preprocessing import Table
from crbm.preprocessing.table import to_column


def read_json(path: Path, *, max_bytes: int | None = None) -> Table:
    """Read a file of objects whose keys are the columns; null or no key is missing.

    The values of an object in an object are columns named after both, as in
    ``user.plan``.
    """
    text = read_text(path, max_bytes)
    columns: dict[str, list[Any]] = {}
    objects: dict[str, int] = {}
    lines: list[int] = []
    for line, record in _records(path, text):
        if not isinstance(record, dict):
            raise file_error(path, "not a JSON object with names.", line=line)
        row, names = _flat(path, record, line)
        for name in row:
            columns.setdefault(name, [None] * len(lines))
        for name, values in columns.items():
            values.append(row.get(name))
        objects |= {name: line for name in names if name not in objects}
        lines.append(line)
    _without_objects(path, columns, objects)
    if not columns:
        raise file_error(path, "no rows.")

    def where(row: int) -> str:
        return f"`{path}`, line {lines[row]}"

    table = Table.from_columns(
        {n: to_column(n, values, where) for n, values in columns.items()}
    )
    return replace(table, where=where)


def _flat(
    path: Path, record: dict[str, Any], line: int
) -> tuple[dict[str, Any], list[str]]:
    """The values of a record and of the objects in it, and the names of these."""
    row: dict[str, Any] = {}
    names: list[str] = []
    left = [("", record)]
    while left:
        prefix, part = left.pop()
        for key, value in part.items():
            name = f"{prefix}{key}"
            if name in row:
                raise file_error(path, f"column `{name}` appears twice.", line=line)
            if isinstance(value, dict):
                names.append(name)
                left.append((f"{name}.", value))
            else:
                row[name] = value
    return row, names


def _without_objects(
    path: Path, columns: dict[str, list[Any]], objects: dict[str, int]
) -> None:
    """Leave out columns of null where other lines have objects; refuse other values."""
    for name, line in objects.items():
        values = columns.pop(name, [])
        if any(value is not None for value in values):
            problem = f"column `{name}` holds an object, but a value on other lines."
            raise ValueError(one_line(f"`{path}`, line {line}, {problem}"))


def _records(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """The objects with their lines; those of one array are counted as lines."""
    if text.lstrip().startswith("["):
        yield from enumerate(_parse(path, text, 1), start=1)
        return
    for line, content in enumerate(text.split("\n"), start=1):
        if content.strip():
            yield line, _parse(path, content, line)


def _parse(path: Path, text: str, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise file_error(path, f"not JSON ({error}).", line=line) from error
