"""Pieces of a page: escaped tables, and a calibration curve as SVG."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from crbm.metrics import ReliabilityCurve

SIZE = 200  # of the square of the curve, in pixels of the drawing


def table(
    rows: Iterable[Mapping[str, Any]],
    *,
    row_class: Callable[[Mapping[str, Any]], str] = lambda row: "",
    best: Mapping[str, Any] | None = None,
) -> str:
    """Rows of equal keys as a table; the values that equal those in `best` are bold.

    Examples
    --------
    >>> "<td>a &amp; b</td>" in table([{"name": "a & b", "value": 0.5}])
    True
    """
    rows = list(rows)
    if not rows:
        return ""
    head = "".join(f"<th>{text(name.replace('_', ' '))}</th>" for name in rows[0])
    body = "".join(
        f'<tr class="{row_class(row)}">{_cells(row, best or {})}</tr>' for row in rows
    )
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def facts(values: Mapping[str, Any]) -> str:
    """Names and values as a table of two columns of text."""
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="text">{text(value)}</td></tr>'
        for name, value in values.items()
    )
    return f'<div class="wide"><table>{rows}</table></div>'


def text(value: Any) -> str:
    """A value as escaped text: four significant digits, `-` for None."""
    if value is None:
        return "-"
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def sentence(words: str) -> str:
    """Escaped text in which names in backticks are set as code.

    Examples
    --------
    >>> sentence("see `a<b`")
    'see <code>a&lt;b</code>'
    """
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(words, quote=False))


def calibration_curve(curve: ReliabilityCurve) -> str:
    """Observed against predicted frequencies; larger dots stand for more labels."""
    full = curve.size > 0
    points = [
        (SIZE * float(x), SIZE * (1 - float(y)), 2.5 + 4.5 * float(n) ** 0.5)
        for x, y, n in zip(
            curve.predicted[full],
            curve.observed[full],
            curve.size[full] / curve.size.max(),
            strict=True,
        )
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"/>' for x, y, r in points
    )
    return (
        f'<svg viewBox="-44 -8 {SIZE + 56} {SIZE + 48}" role="img" '
        'aria-label="Calibration curve">'
        f'<rect class="axis" width="{SIZE}" height="{SIZE}"/>{_ticks()}'
        f'<path class="perfect" d="M0 {SIZE} L{SIZE} 0"/>'
        f'<polyline class="curve" points="{line}"/>{dots}</svg>'
    )


def _ticks() -> str:
    marks = []
    for share in (0, 0.5, 1):
        place = SIZE * share
        marks.append(
            f'<text x="{place}" y="{SIZE + 15}" text-anchor="middle">{share}</text>'
            f'<text x="-6" y="{SIZE - place + 4}" text-anchor="end">{share}</text>'
        )
    middle = SIZE / 2
    return (
        "".join(marks)
        + f'<text x="{middle}" y="{SIZE + 32}" text-anchor="middle">predicted</text>'
        f'<text transform="translate(-32 {middle}) rotate(-90)" text-anchor="middle">'
        "observed</text>"
    )


def _cells(row: Mapping[str, Any], best: Mapping[str, Any]) -> str:
    cells = []
    for name, value in row.items():
        mark = ' class="best"' if name in best and value == best[name] else ""
        cells.append(f"<td{mark}>{text(value)}</td>")
    return "".join(cells)
