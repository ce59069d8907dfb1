"""Numbers, dates and yes/no answers that are written as words."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

_YES = "yes y true t on ja j wahr oui vrai si sí sì verdadero vero"
_NO = "no n false f off nein falsch non faux falso"
YES_NO = dict.fromkeys(_YES.split(), 1.0) | dict.fromkeys(_NO.split(), 0.0)
# Missing values as people write them into columns of numbers.
NO_VALUE = frozenset(
    {"", "-", "--", ".", "?", "na", "n/a", "nan", "null", "none", "#nv"}
)
# The decimal point is followed by the separators of thousands that go with it.
_GROUPS = {".": ",' ", ",": ".' "}
_SPACES = re.compile(r"[\s\u00a0\u202f]+")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}.*)?")
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y.%m.%d")
_SHORT_DAYS = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%b %d, %Y")
DATE_FORMATS = (
    "iso",
    *(
        day + hour
        for day in _DAYS + _SHORT_DAYS
        for hour in ("", " %H:%M", " %H:%M:%S")
    ),
)
AMBIGUOUS = {"%d/%m/%Y": "%m/%d/%Y", "%d/%m/%y": "%m/%d/%y"}


class Parsed(NamedTuple):
    """Words as numbers or dates, and where this failed; missing words are neither."""

    values: np.ndarray
    failed: np.ndarray

    @property
    def n_failed(self) -> int:
        """How many words are something else."""
        return int(self.failed.sum())


def yes_no(words: np.ndarray) -> Parsed:
    """1 for yes, true, on and the like, 0 for their opposites.

    A spreadsheet writes them in the language of its user.

    Examples
    --------
    >>> yes_no(np.array(["Yes", None, "f"], dtype=object)).values
    array([ 1., nan,  0.])
    """
    return _parse(words, lambda word: YES_NO[word.strip().lower()])


def numbers(words: np.ndarray, decimal: str = ".") -> Parsed:
    """Numbers with the decimal point given; groups of three digits may be separated.

    Examples
    --------
    >>> numbers(np.array(["1,234.5", "-", "7 %"], dtype=object)).values
    array([1234.5,    nan,    7. ])
    >>> numbers(np.array(["1.234,5"], dtype=object), decimal=",").values
    array([1234.5])
    """
    pattern = _number_pattern(decimal)

    def parse(word: str) -> float:
        compact = _SPACES.sub(" ", word).strip().replace(" %", "%")
        if compact.lower() in NO_VALUE:
            return np.nan
        if not pattern.fullmatch(compact):
            raise ValueError(word)
        for group in _GROUPS[decimal]:
            compact = compact.replace(group, "")
        return float(compact.rstrip("%").replace(decimal, "."))

    return _parse(words, parse)


def best_numbers(words: np.ndarray, decimal: str = ".") -> tuple[Parsed, str]:
    """The reading with a decimal point or a comma that fails least, and which it is.

    Where both are possible, as in 1.234, it is `decimal`.
    """
    first = numbers(words, decimal)
    if not first.n_failed:
        return first, decimal
    other = "." if decimal == "," else ","
    second = numbers(words, other)
    return (second, other) if second.n_failed < first.n_failed else (first, decimal)


def dates(words: np.ndarray, form: str) -> Parsed:
    """Dates of one format, or in ISO 8601, as datetime64."""

    def parse(word: str) -> datetime:
        word = word.strip()
        if _ISO.fullmatch(word):
            return _without_zone(datetime.fromisoformat(word))
        return datetime.strptime(word, form)

    return _parse(words, parse, np.datetime64("NaT", "us"))


def best_dates(words: np.ndarray) -> tuple[Parsed, str]:
    """The reading of dates that fails least, and its format."""
    distinct = np.array(sorted({word for word in words if word is not None}), object)
    some = distinct[:: max(1, len(distinct) // 50)]
    likely = [form for form in DATE_FORMATS if dates(some, form).n_failed < len(some)]
    readings = [(dates(words, form), form) for form in likely or ("iso",)]
    return min(readings, key=lambda reading: reading[0].n_failed)


def is_ambiguous(words: np.ndarray, form: str) -> bool:
    """Whether day and month could change places in all of these dates."""
    day, _, hour = form.partition(" ")
    other = AMBIGUOUS.get(day)
    if other is None:
        return False
    return not dates(words, f"{other} {hour}".strip()).n_failed


def _parse(
    words: np.ndarray, parse: Callable[[str], Any], missing: Any = np.nan
) -> Parsed:
    """Each distinct word parsed once."""
    found: dict[Any, tuple[Any, bool]] = {None: (missing, False)}
    for word in words:
        if word not in found:
            try:
                found[word] = (parse(word), False)
            except (ValueError, KeyError):
                found[word] = (missing, True)
    pairs = [found[word] for word in words]
    kind = "datetime64[us]" if isinstance(missing, np.datetime64) else np.float64
    values = np.array([value for value, _ in pairs], dtype=kind)
    return Parsed(values, np.array([failed for _, failed in pairs], dtype=bool))


def _number_pattern(decimal: str) -> re.Pattern[str]:
    groups = "|".join(
        rf"\d{{1,3}}(?:{re.escape(group)}\d{{3}})+" for group in _GROUPS[decimal]
    )
    point = re.escape(decimal)
    return re.compile(
        rf"[+-]?(?:(?:\d+|{groups})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?%?"
    )


def _without_zone(value: datetime) -> datetime:
    if value.tzinfo is None:
        return value
    return (value - value.utcoffset()).replace(tzinfo=None)  # type: ignore[operator]
