"""Reports of the commands, printed for people or, as JSON, for scripts."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from crbm.commands.evaluate import meaning
from crbm.commands.output import write_csv
from crbm.commands.predict import Predictions


def as_text(report: Any) -> str:
    """Plain data as JSON, with null for numbers that are not finite."""
    return json.dumps(_finite(report), indent=1)


def trained(report: Mapping[str, Any], *, as_json: bool) -> None:
    """What `crbm train` learned."""
    if as_json:
        typer.echo(as_text(report))
        return
    _facts(report)
    typer.echo(f"Next: crbm evaluate {report['out']} DATA, crbm inspect, crbm serve")


def predictions(found: Predictions, out: Path | None, *, as_json: bool) -> None:
    """What `crbm predict` found: the file it wrote, or the predictions themselves."""
    n_rows = len(found.columns[0].values)
    if out is not None:
        line = f"{n_rows} rows written to {out}"
        typer.echo(as_text({"out": str(out), "n_rows": n_rows}) if as_json else line)
    elif as_json:
        typer.echo(as_text({k: v.tolist() for k, v in found.arrays.items()}))
    else:
        write_csv(sys.stdout, found.columns)


def evaluation(report: Mapping[str, Any], *, as_json: bool) -> None:
    """What `crbm evaluate` measured."""
    if as_json:
        typer.echo(as_text(report))
        return
    table = Table("measure", "value", "what it is")
    for name, value in report["metrics"].items():
        table.add_row(name, _short(value), meaning(name))
    Console().print(f"{report['model']} on {report['n_cases']} cases")
    Console().print(table)
    if "labels" in report:
        _rows(report["labels"])


def inspection(report: Mapping[str, Any], *, as_json: bool) -> None:
    """What `crbm inspect` found."""
    if as_json:
        typer.echo(as_text(report))
        return
    listed = ("label_names", "feature_names", "training", "attract", "exclude")
    _facts({name: value for name, value in report.items() if name not in listed})
    names = report["label_names"]
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    typer.echo(f"labels: {', '.join(names[:20])}{more}")
    _rows(report["training"])
    for what in ("attract", "exclude"):
        if report.get(what):
            typer.echo(f"labels that {what} each other most (log odds ratio):")
            for one, other, strength in report[what]:
                typer.echo(f"  {strength:+.2g}  {one}, {other}")


def _facts(report: Mapping[str, Any]) -> None:
    table = Table.grid(padding=(0, 2))
    for name, value in report.items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{k}={_short(v)}" for k, v in value.items())
        table.add_row(name.replace("_", " "), _short(value))
    Console().print(table)


def _rows(rows: list[dict[str, Any]]) -> None:
    table = Table(*(name.replace("_", " ") for name in rows[0]))
    for row in rows:
        table.add_row(*(_short(value) for value in row.values()))
    Console().print(table)


def _short(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
