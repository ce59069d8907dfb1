"""Read JSON lines: one object per line, or one array of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from crbm.datasets.formats._common import file_error, read_text
from crbm.preprocessing import Table
from crbm.preprocessing.table import to_column


def read_json(path: Path, *, max_bytes: int | None = None) -> Table:
    """Read a file of objects whose keys are the columns; null or no key is missing."""
    text = read_text(path, max_bytes)
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    for line, record in _records(path, text):
        if not isinstance(record, dict):
            raise file_error(path, "not a JSON object with names.", line=line)
        for name in record:
            columns.setdefault(name, [None] * len(lines))
        for name, values in columns.items():
            values.append(record.get(name))
        lines.append(line)
    if not lines:
        raise file_error(path, "no rows.")
    table = Table.from_columns(
        {n: to_column(n, values) for n, values in columns.items()}
    )
    return replace(table, where=lambda row: f"`{path}`, line {lines[row]}")


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
