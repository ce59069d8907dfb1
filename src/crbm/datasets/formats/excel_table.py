"""Read the first sheet of an Excel file."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from crbm.datasets.formats._columns import check_unique
from crbm.datasets.formats._common import (
    file_error,
    require,
    size_limit,
    too_large_error,
)
from crbm.datasets.formats.naming import finish
from crbm.preprocessing import Table
from crbm.preprocessing.table import to_column


def read_excel(path: Path, *, max_bytes: int | None = None) -> Table:
    """Read the first sheet of an .xlsx file, whose first row names the columns."""
    calamine = require("python_calamine", "python-calamine", "Reading Excel")
    _check_size(path, size_limit(path, max_bytes, packed=True))
    try:
        with calamine.CalamineWorkbook.from_path(str(path)) as book:
            sheet = book.get_sheet_by_index(0)
            rows = sheet.to_python(skip_empty_area=True)
            start, n_sheets = sheet.start, len(book.sheet_names)
    except (calamine.CalamineError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise file_error(path, f"not a complete Excel file ({error}).") from error
    notes = (f"only the first of {n_sheets} sheets is read",) if n_sheets > 1 else ()
    return _to_table(path, rows, start[0] if start else 0, notes)


def _check_size(path: Path, max_bytes: int) -> None:
    """Check the sizes of the archive's members before they are unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise file_error(path, f"not a complete Excel file ({error}).") from error
    if size > max_bytes:
        raise too_large_error(path, size, max_bytes)


def _to_table(
    path: Path, rows: list[list[Any]], first_row: int, notes: tuple[str, ...]
) -> Table:
    if len(rows) < 2:
        raise file_error(path, "no rows below the names of the columns.")
    names = [str(name).strip() for name in rows[0]]
    check_unique(path, [name for name in names if name], "column")
    # Calamine returns empty cells as empty strings.
    columns = [[None if v == "" else v for v in c] for c in zip(*rows[1:], strict=True)]
    table = Table.from_columns(
        {str(place): to_column(names[place], c) for place, c in enumerate(columns)}
    )
    offset = first_row + 2  # rows are counted from 1, and the first one has the names
    return finish(table, names, lambda row: f"`{path}`, row {row + offset}", notes)
