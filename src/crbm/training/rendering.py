"""Pictures of a run's numbers: a table with sparklines, and curves by matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 160, 24


def table(rows: Mapping[str, str]) -> str:
    """A table of names and values in HTML."""
    cells = [
        f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items()
    ]
    return f"<table>{''.join(cells)}</table>"


def summary(values: Sequence[float | None]) -> str:
    """The last of some numbers, after a sparkline of them all."""
    finite = [v for v in values if v is not None and math.isfinite(v)]
    if not finite:
        return "none"
    return f"{sparkline(finite)} {finite[-1]:.4g}"


def sparkline(values: Sequence[float]) -> str:
    """A small line through the values, from left to right, as inline SVG.

    Examples
    --------
    >>> print(sparkline([1.0, 0.0]).partition("points=")[2][:20])
    "0.0,2.0 160.0,22.0"
    """
    low, high = min(values), max(values)
    across = WIDTH / max(len(values) - 1, 1)
    up = (HEIGHT - 4) / ((high - low) or 1.0)
    points = " ".join(
        f"{place * across:.1f},{2 + (high - value) * up:.1f}"
        for place, value in enumerate(values)
    )
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<polyline fill="none" stroke="currentColor" points="{points}"/></svg>'
    )


def curves(
    ax: Any,
    loss: Sequence[float],
    validation: Sequence[float | None],
    best_epoch: int | None,
) -> Any:
    """The loss on the left scale and the validation error on the right."""
    if ax is None:
        ax = _new_axes()
    ax.plot(loss, color="C0", label="loss")
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss", color="C0")
    if best_epoch is not None:
        right = ax.twinx()
        right.plot(validation, color="C1", label="validation error")
        right.axvline(best_epoch, color="C1", linestyle=":", linewidth=1)
        right.set_ylabel("validation error", color="C1")
    return ax


def _new_axes() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib. Install it with `crbm[plot]`."
        ) from error
    return pyplot.subplots(layout="constrained")[1]
