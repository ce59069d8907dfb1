"""The table of real targets as Markdown: errors and likelihoods of `outputs`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

from paper.engine.store import Row
from paper.tables import multi_target


def table(rows: Sequence[Row], measure: str) -> str:
    """One row per data set, one column per model; the best mean is bold.

    Examples
    --------
    >>> row = {"dataset": "enb", "model": "ridge", "metrics": {"nll": 5.0}}
    >>> print(table([row], "nll"))
    | set | ridge | halves |
    | --- | --- | --- |
    | enb | **5.00** | 1 |
    """
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if measure in row["metrics"]:
            place = row["dataset"], row["model"]
            found.setdefault(place, []).append(row["metrics"][measure])
    models = [m for m in multi_target.MODELS if any(m == own for _, own in found)]
    lines = [["set", *models, "halves"], ["---"] * (len(models) + 2)]
    for name in multi_target.SETS:
        own = {m: found[name, m] for m in models if (name, m) in found}
        if own:
            best = min(mean(values) for values in own.values())
            cells = [_cell(own.get(m, []), best) for m in models]
            lines.append([name, *cells, str(min(map(len, own.values())))])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(values: Sequence[float], best: float) -> str:
    if not values:
        return "-"
    text = f"{mean(values):.2f}"
    text = f"**{text}**" if mean(values) <= best else text
    return f"{text} ± {stdev(values):.2f}" if len(values) > 1 else text
