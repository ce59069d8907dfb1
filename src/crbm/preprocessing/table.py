"""Tables of named columns, as they come from files, frames and requests."""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

ROLES = ("categorical", "text")
INDEX_NAME = re.compile(r"__index_level_\d+__")  # by pandas
SCALARS = {"number", "boolean", "string", "date"}
Values = Sequence[Any] | np.ndarray


class Column(NamedTuple):
    """The values of one column, with NaN, NaT or None where one is missing.

    `kind` is "number" (float64), "boolean" (float64: 0, 1 or NaN), "string" (objects:
    str or None), "date" (datetime64[us]) or "list" (objects: list or None).
    """

    kind: str
    values: np.ndarray

    def is_missing(self) -> np.ndarray:
        """True where a value is missing."""
        if self.values.dtype == object:
            return np.array([value is None for value in self.values], dtype=bool)
        return np.asarray(self.values != self.values)  # true for NaN and NaT alone


def row_place(row: int) -> str:
    """Where the row with this number, from 0, is: rows are counted from 1."""
    return f"Row {row + 1}"


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Named columns of numbers, booleans, strings, dates or lists.

    Parameters
    ----------
    columns
        The columns by name, all of one length.
    roles
        "categorical" or "text" for columns whose encoding is not to be guessed.
    rows
        The number of each row in its source, which error messages name.
    where
        Says where such a row is, e.g. "line 7".
    notes
        What the reader did that its user should know.
    decimal
        The decimal point of numbers among strings, where they could have another.

    Examples
    --------
    >>> table = Table.from_records([{"age": 57, "plan": "free"}, {"age": None}])
    >>> table
    Table of 2 rows: age (number), plan (string)
    >>> table[1:]["plan"].values
    array([None], dtype=object)
    """

    columns: Mapping[str, Column]
    roles: Mapping[str, str] = field(default_factory=dict)
    rows: np.ndarray = field(default_factory=lambda: np.arange(0))
    where: Callable[[int], str] = row_place
    notes: tuple[str, ...] = ()
    decimal: str = "."

    @classmethod
    def from_columns(cls, columns: Mapping[str, Column], **more: Any) -> Table:
        """The table of these columns, its rows numbered in their order."""
        n_rows = len(next(iter(columns.values())).values) if columns else 0
        return cls(dict(columns), rows=np.arange(n_rows), **more)

    @classmethod
    def from_array(cls, X: Any, names: Sequence[str] | None = None) -> Table:
        """The columns of an array, named x0, x1, ... without names."""
        names = names or [f"x{place}" for place in range(X.shape[1])]
        if len(names) != X.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns, not {len(names)}.")
        pairs = zip(names, X.T, strict=True)
        return cls.from_columns({name: to_column(name, part) for name, part in pairs})

    @classmethod
    def from_records(
        cls, records: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None
    ) -> Table:
        """The rows given as mappings from names to values; others are missing."""
        names = names or list(dict.fromkeys(name for row in records for name in row))
        return cls.from_columns(
            {
                name: to_column(name, [row.get(name) for row in records])
                for name in names
            }
        )

    @classmethod
    def from_frame(cls, frame: Any) -> Table:
        """The columns of a frame of pandas, polars, pyarrow or similar.

        What pandas wrote into a file for the index of its frame is left out.
        """
        refuse_twice(frame_names(frame), "column")
        native = nw.from_native(without_index(frame), eager_only=True)
        series = {str(part.name): part for part in native.iter_columns()}
        table = cls.from_columns(
            {name: _series_column(name, part) for name, part in series.items()}
        )
        is_category = (nw.Categorical, nw.Enum)
        chosen = [name for name, part in series.items() if part.dtype in is_category]
        return table.mark("categorical", chosen)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.rows), len(self.columns)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} ({c.kind})" for name, c in self.columns.items())
        return f"Table of {len(self)} rows: {listed}"

    def __getitem__(self, key: Any) -> Any:
        """A column by its name, or the table of some rows."""
        if isinstance(key, str):
            return self.columns[key]
        key = [key] if isinstance(key, numbers.Integral) else key
        columns = {name: Column(k, v[key]) for name, (k, v) in self.columns.items()}
        return replace(self, columns=columns, rows=self.rows[key])

    def place(self, row: int) -> str:
        """Where a row of this table is in its source."""
        return self.where(int(self.rows[row]))

    def select(self, names: Iterable[str]) -> Table:
        """These columns, in this order."""
        return replace(self, columns={name: self.columns[name] for name in names})

    def without(self, names: Iterable[str]) -> Table:
        """All columns but these."""
        left_out = set(names)
        return self.select(name for name in self.columns if name not in left_out)

    def mark(self, role: str, names: Iterable[str]) -> Table:
        """The table with the encoding of some columns fixed."""
        return replace(self, roles={**self.roles, **dict.fromkeys(names, role)})

    def records(self) -> list[dict[str, Any]]:
        """The rows as mappings from names to plain values, None where missing."""
        columns = {name: _plain_values(c) for name, c in self.columns.items()}
        return [
            {name: values[row] for name, values in columns.items()}
            for row in range(len(self))
        ]


def is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas, polars, pyarrow or similar."""
    if isinstance(X, np.ndarray | list | tuple | Table):
        return False
    try:
        found = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        refuse_twice(frame_names(X), "column")
        raise
    return isinstance(found, nw.DataFrame)


def frame_names(frame: Any) -> list[str]:
    """The names of a frame's columns."""
    names = getattr(frame, "column_names", None)
    return [str(name) for name in (frame.columns if names is None else names)]


def without_index(frame: Any) -> Any:
    """A frame without the columns that pandas wrote for the index of its own."""
    names = frame_names(frame)
    metadata = getattr(getattr(frame, "schema", None), "metadata", None)
    named = pandas_index(metadata) if isinstance(metadata, dict) else []
    index = [name for name in names if name in named or INDEX_NAME.fullmatch(name)]
    if not index or len(index) == len(names):
        return frame
    return nw.from_native(frame, eager_only=True).drop(index).to_native()


def pandas_index(metadata: Mapping[bytes, bytes] | None) -> list[str]:
    """The columns that hold the index, by what pandas wrote into a schema of Arrow."""
    try:
        described = json.loads((metadata or {}).get(b"pandas", b"{}"))
        index = described.get("index_columns", [])
    except (ValueError, AttributeError):
        return []
    return [name for name in index if isinstance(name, str)]


def refuse_twice(names: Sequence[str], what: str) -> None:
    """Require distinct names."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"The {what} name `{name}` appears twice. Rename one.")
        seen.add(name)


def to_column(
    name: str, values: Values, place: Callable[[int], str] = row_place
) -> Column:
    """A column of Python or NumPy values, with the kind inferred from them.

    Numbers among strings become strings, as in a file. `place` says where a row is.

    Examples
    --------
    >>> to_column("age", [1, None, 2.5])
    Column(kind='number', values=array([1. , nan, 2.5]))
    >>> to_column("plan", ["free", None, 3]).values
    array(['free', None, '3'], dtype=object)
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiubM":
        return _typed_column(values)
    plain = [_plain(value) for value in values]
    kinds = {_kind(value) for value in plain if value is not None}
    if len(kinds) > 1 and kinds <= SCALARS:
        return Column("string", objects([_text(value) for value in plain]))
    odd = kinds - SCALARS
    if odd and kinds != {"list"}:
        row = next(i for i, value in enumerate(plain) if _kind(value) in odd)
        raise ValueError(
            f"{place(row)}, column `{name}` holds a value of the kind "
            f"{_kind(plain[row])}; numbers, strings, dates and booleans can be used. "
            "Drop or convert it."
        )
    return _column_of(kinds.pop() if kinds else "string", plain)


def text_of(column: Column) -> np.ndarray:
    """The values as strings, None where one is missing; 7.0 is "7"."""
    return objects([_text(value) for value in _plain_values(column)])


def objects(values: Sequence[Any]) -> np.ndarray:
    """An array of Python objects with one dimension, whatever they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _series_column(name: str, series: Any) -> Column:
    kind = series.dtype
    if kind.is_numeric():
        values = series.cast(nw.Float64()).to_numpy()
        return Column("number", np.array(values, dtype=np.float64))
    if isinstance(kind, nw.Datetime | nw.Date):
        return _date_column(series)
    return to_column(name, series.to_list())


def _date_column(series: Any) -> Column:
    if getattr(series.dtype, "time_zone", None) is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    values = series.cast(nw.Datetime("us")).to_numpy()
    return Column("date", np.array(values, dtype="datetime64[us]"))


def _typed_column(values: np.ndarray) -> Column:
    if values.dtype.kind == "M":
        return Column("date", values.astype("datetime64[us]"))
    kind = "boolean" if values.dtype.kind == "b" else "number"
    return Column(kind, values.astype(np.float64))


def _column_of(kind: str, plain: list[Any]) -> Column:
    if kind in ("number", "boolean"):
        numbers_ = [np.nan if value is None else float(value) for value in plain]
        return Column(kind, np.array(numbers_, dtype=np.float64))
    if kind == "date":
        return Column(kind, np.array(plain, dtype="datetime64[us]"))
    return Column(kind, objects(plain))


def _plain(value: Any) -> Any:
    """A value as str, bool, float, int, datetime, list or None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray | tuple | set | frozenset):
        return list(value)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return None if value != value else _naive(value)  # NaT differs from itself
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, time):
        return value.isoformat()
    if value is None or type(value).__name__ == "NAType" or _is_nan(value):
        return None
    return value


def _naive(value: datetime) -> datetime:
    """The time in UTC without a time zone, as a plain datetime."""
    if value.tzinfo is not None:
        value = (value - value.utcoffset()).replace(tzinfo=None)  # type: ignore[operator]
    return datetime.fromisoformat(value.isoformat())


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, numbers.Real):
        return "number"
    names = {str: "string", datetime: "date", list: "list"}
    return names.get(type(value), type(value).__name__)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _plain_values(column: Column) -> list[Any]:
    """The values as Python objects that JSON knows, or dates as text of ISO 8601."""
    missing = column.is_missing()
    if column.kind == "boolean":
        values: list[Any] = [bool(value) for value in np.nan_to_num(column.values)]
    elif column.kind == "date":
        values = [str(value.astype("datetime64[s]")) for value in column.values]
    else:
        values = column.values.tolist()
    return [None if gone else v for gone, v in zip(missing, values, strict=True)]
