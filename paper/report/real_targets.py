"""The table of real targets as Markdown: errors and likelihoods of `outputs`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

from paper.engine.store import Row
from paper.tables import motion, multi_target, outputs


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


def motion_table(rows: Sequence[Row]) -> str:
    """One row per model of the next frame, with its error and likelihood.

    Examples
    --------
    >>> own = {"dataset": "mocap", "model": "CRBMRegressor"}
    >>> print(motion_table([{**own, "metrics": {"rmse": 40.0, "nll": 9.0}}]))
    | model | error | negative log-likelihood |
    | --- | --- | --- |
    | CRBMRegressor | **40.00** | **9.00** |
    """
    own = {
        row["model"]: row["metrics"]
        for row in rows
        if row["dataset"] == outputs.MOTION and row["model"] in motion.MODELS
    }
    lines = [["model", "error", "negative log-likelihood"], ["---"] * 3]
    for name, found in own.items():
        cells = [
            _cell([found[key]], min(each[key] for each in own.values()))
            for key in ("rmse", "nll")
        ]
        lines.append([name, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(values: Sequence[float], best: float) -> str:
    if not values:
        return "-"
    text = f"{mean(values):.2f}"
    text = f"**{text}**" if mean(values) <= best else text
    return f"{text} ± {stdev(values):.2f}" if len(values) > 1 else text
