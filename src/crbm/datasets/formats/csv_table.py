"""Read CSV files with any separator: the text is parsed once, by pyarrow.

pyarrow is used instead of pandas because it refuses short rows, which pandas fills
with NaN, and reports the row of a bad value.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from crbm.datasets.formats._columns import check_unique
from crbm.datasets.formats._common import (
    file_error,
    read_bytes,
    require,
)
from crbm.datasets.formats.naming import finish
from crbm.preprocessing import Table

SEPARATORS = (",", ";", "\t", "|")
# Missing values beside those that pyarrow knows (empty, NA, null, NaN, ...).
NO_VALUES = ("?", "#NV", "#N/V", "None")
# Memory of a column beside its values, and of the values per byte of the file.
COLUMN_BYTES, MEMORY_RATIO = 14_000, 32
_SAMPLE = 2**16  # characters from which separator and decimal point are inferred
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SEPARATOR_LINE = re.compile(rb"\A\"?sep=[^\r\n]\"?(?=[\r\n])", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
_DECIMAL_POINT = re.compile(r"[+-]?\d+\.\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_NUMBER = re.compile(r"[+-]?\d*[.,]\d+([eE][+-]?\d+)?")


class Dialect(NamedTuple):
    """How a file separates values and writes numbers."""

    separator: str
    decimal: str


def read_csv(path: Path, *, max_bytes: int | None = None, decimal: str = ".") -> Table:
    """Read a file whose first line names the columns.

    The separator (comma, semicolon, tab or bar), the decimal point or comma and the
    encoding (UTF-8 or UTF-16 with a byte order mark, UTF-8, else Windows-1252) are
    recognised. Where the numbers do not tell, `decimal` is their decimal point.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = file.write_text("weight;name\\n30,5;Rex\\n4;Tom\\n")
    >>> read_csv(file)["weight"].values
    array([30.5,  4. ])
    """
    content, notes = _to_utf8(read_bytes(path, max_bytes))
    n_bytes = content.find(b"\n") + 1 + _SAMPLE  # the names, however many, and rows
    sample = content[:n_bytes].decode(errors="ignore")
    is_whole = len(content) <= n_bytes
    dialect = recognise_dialect(sample, whole=is_whole, decimal=decimal)
    names, has_rows = _header(path, sample, dialect.separator)
    if is_whole and not has_rows:  # pyarrow needs an end of the first line
        raise file_error(path, "no rows after the header.")
    _check_width(path, len(names), len(content))
    frame = _parse(path, content, names, dialect)
    if not frame.num_rows:
        raise file_error(path, "no rows after the header.")
    table = replace(Table.from_frame(frame), decimal=dialect.decimal)
    return finish(
        table, names, lambda row: f"`{path}`, line {line_of(path, row)}", notes
    )


def recognise_dialect(
    sample: str, *, whole: bool = True, decimal: str = "."
) -> Dialect:
    """The separator that cuts the lines most evenly, and the decimal point used.

    Beside decimal commas, points before three digits separate thousands.

    Examples
    --------
    >>> recognise_dialect("a;b\\n1,5;2\\n")
    Dialect(separator=';', decimal=',')
    """
    rows = {mark: _sample_rows(sample, mark, whole=whole) for mark in SEPARATORS}
    separator = max(SEPARATORS, key=lambda mark: _evenness(rows[mark]))
    cells = [cell.strip() for row in rows[separator][1:] for cell in row]
    has_comma = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    has_point = any(
        _DECIMAL_POINT.fullmatch(cell) and not _THOUSANDS.fullmatch(cell)
        for cell in cells
    )
    is_comma = separator != "," and not has_point and (has_comma or decimal == ",")
    return Dialect(separator, "," if is_comma else ".")


def line_of(path: Path, row: int) -> int:
    """The line, from 1, on which a row (from 0, after the header) starts."""
    content, _ = _to_utf8(read_bytes(path))
    text = content.decode()
    dialect = recognise_dialect(text[:_SAMPLE], whole=len(text) <= _SAMPLE)
    for count, line in enumerate(_record_lines(text, dialect.separator)):
        if count == row + 1:
            return line
    return line


def _record_lines(text: str, separator: str) -> Iterator[int]:
    """The first lines of the records; lines without any content are no records."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    before = 0
    for record in reader:
        if record:
            yield before + 1
        before = reader.line_num


def _to_utf8(content: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The text in UTF-8 without a mark, and a note if its encoding was guessed.

    A first line such as ``sep=;``, by which Excel knows the separator, is emptied.
    """
    text, notes = _decoded(content)
    return _SEPARATOR_LINE.sub(b"", text, count=1), notes


def _decoded(content: bytes) -> tuple[bytes, tuple[str, ...]]:
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return content.decode(encoding).encode(), ()
    try:
        for _ in codecs.iterdecode(io.BytesIO(content), "utf-8"):
            pass
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
        return text.encode(), ("the text is not UTF-8 and is read as Windows-1252",)
    return content, ()


def _sample_rows(sample: str, separator: str, *, whole: bool) -> list[list[str]]:
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
    try:
        rows = [row for row in reader if row]
    except csv.Error:
        return []
    return rows if whole else rows[:-1]


def _evenness(rows: list[list[str]]) -> tuple[float, int]:
    """The share of rows with as many cells as the first, and this number."""
    n_cells = len(rows[0]) if rows else 1
    if n_cells == 1:
        return 0.0, 1
    return sum(len(row) == n_cells for row in rows) / len(rows), n_cells


def _header(path: Path, sample: str, separator: str) -> tuple[list[str], bool]:
    """The names in the first line that is not empty, and whether another follows."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
    rows = (row for row in reader if row)
    names = [name.strip() for name in next(rows, [])]
    if not names:
        raise file_error(path, "no line names the columns; the first ones are empty.")
    if any(_NUMBER.fullmatch(name) for name in names):
        raise file_error(path, "the first line must name the columns.", line=1)
    check_unique(path, [name for name in names if name], "column")
    return names, next(rows, None) is not None


def _check_width(path: Path, n_columns: int, size: int) -> None:
    """Refuse names of columns that would take far more memory than the file.

    With this check, reading takes at most 512 MiB and 32 times the file's size.
    """
    needed, allowed = n_columns * COLUMN_BYTES, 2**29 + MEMORY_RATIO * size
    if needed > allowed:
        raise file_error(
            path,
            f"{n_columns} columns in {size} bytes; at most {allowed // COLUMN_BYTES} "
            "are read from a CSV file of this size. Use NPZ or libsvm for wide tables.",
            line=1,
        )


def _parse(path: Path, content: bytes, names: list[str], dialect: Dialect) -> Any:
    pa = require("pyarrow", "pyarrow", "Reading CSV")
    reader = require("pyarrow.csv", "pyarrow", "Reading CSV")
    numbered = [str(place) for place in range(len(names))]  # names may be empty
    convert = reader.ConvertOptions(
        strings_can_be_null=True, decimal_point=dialect.decimal
    )
    convert.null_values = [*convert.null_values, *NO_VALUES]
    if content[:1] in (b"\r", b"\n"):  # pyarrow would skip such a line for the names
        content = content.lstrip(b"\r\n")
    try:
        return reader.read_csv(
            pa.BufferReader(content),
            # pyarrow reports the row of an error only with a single thread, and infers
            # the types of the columns from one block.
            read_options=reader.ReadOptions(
                use_threads=False,
                block_size=min(len(content) + 1, 2**31 - 1),
                column_names=numbered,
                skip_rows_after_names=1,
            ),
            parse_options=reader.ParseOptions(
                delimiter=dialect.separator, newlines_in_values=True
            ),
            convert_options=convert,
        )
    except pa.ArrowException as error:
        raise _csv_error(path, str(error)) from error


def _csv_error(path: Path, problem: str) -> ValueError:
    """pyarrow's message with a line number; it counts the rows that are not empty."""
    row = re.search(r"Row #(\d+): ", problem)
    if row is None:
        return file_error(path, f"{problem[:200]}.")
    line = line_of(path, int(row[1]) - 2)
    return file_error(path, f"{problem[row.end() :][:200]}.", line=line)
