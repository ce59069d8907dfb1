"""How the columns of a table were read, for people and for forms."""

from __future__ import annotations

from typing import Any

from crbm.preprocessing.columns import Dates, Levels, Numbers, Texts
from crbm.preprocessing.table_encoder import TableEncoder

MOST_LEVELS = 8  # of a category that are listed


def describe(encoder: TableEncoder) -> list[dict[str, str]]:
    """What each column was read as, in the order of the table.

    Examples
    --------
    >>> encoder = TableEncoder().fit([{"plan": "free"}, {"plan": "pro"}])
    >>> describe(encoder)
    [{'column': 'plan', 'read_as': 'categorical', 'details': 'free, pro'}]
    """
    details = _details(encoder)
    return [
        {
            "column": name,
            "read_as": found.kind or "left out",
            "details": details.get(name, found.reason),
        }
        for name, found in encoder.recognised_.items()
    ]


def fields(encoder: TableEncoder) -> list[dict[str, Any]]:
    """The columns that a row must have, with their kinds and levels.

    Examples
    --------
    >>> encoder = TableEncoder().fit([{"plan": "free"}, {"plan": "pro"}])
    >>> fields(encoder)
    [{'name': 'plan', 'kind': 'categorical', 'levels': ['free', 'pro']}]
    """
    levels = {e.column: e.levels for e in encoder.encoders_ if isinstance(e, Levels)}
    return [
        {"name": name, "kind": found.kind, "levels": levels.get(name)}
        for name, found in encoder.recognised_.items()
        if found.kind
    ]


def _details(encoder: TableEncoder) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in encoder.encoders_:
        if isinstance(part, Numbers):
            found |= _number_details(part)
        elif isinstance(part, Levels):
            found[part.column] = _level_details(part)
        elif isinstance(part, Dates):
            found[part.column] = _date_details(part)
        elif isinstance(part, Texts):
            found[part.column] = f"{len(part.words)} words"
    return found


def _number_details(part: Numbers) -> dict[str, str]:
    medians, marked = part.scaled.missing.medians, set(part.scaled.missing.marked)
    details = {}
    for place, (name, form) in enumerate(zip(part.columns, part.forms, strict=True)):
        comma = "decimal comma" if form == "," else ""
        missing = f"missing: {medians[place]:.4g}" if place in marked else ""
        details[name] = ", ".join(filter(None, (comma, missing)))
    return details


def _level_details(part: Levels) -> str:
    n_more = len(part.levels) - MOST_LEVELS
    listed = part.levels[:MOST_LEVELS] + ([f"{n_more} more"] if n_more > 0 else [])
    more = ["other"] * part.has_other + ["missing"] * part.has_missing
    return ", ".join([*listed, *more])


def _date_details(part: Dates) -> str:
    written = "" if part.form in ("", "iso") else f", written {part.form}"
    return f"from {part.first[:10]}: {', '.join(part.parts)}{written}"
