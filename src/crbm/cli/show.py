"""Print the reports of the commands, as tables or as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

from crbm.messages import one_line

if TYPE_CHECKING:
    from crbm.commands.predict import Predictions

# Parts of a report that are printed as lists and tables, not as facts.
LISTED = (
    "label_names",
    "feature_names",
    "columns",
    "training",
    "attract",
    "exclude",
    "held_out",
    "notices",
)


MOST_COLUMNS = 40  # of a table that are listed
LONGEST_LINE = 10_000


def as_text(report: Any) -> str:
    """Plain data as JSON, with null for NaN and infinity."""
    return json.dumps(_finite(report), indent=1)


def training(report: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the summary of `crbm train`."""
    if as_json:
        typer.echo(as_text(report))
        return
    _print_facts({name: value for name, value in report.items() if name not in LISTED})
    if "held_out" in report:
        _print_held_out(report["held_out"])
    _print_notices(report)
    _say(f"Next: crbm evaluate {report['out']} DATA, crbm inspect, crbm serve")


def _print_held_out(found: Mapping[str, Any]) -> None:
    from crbm.commands.pixels import report as of_pixels
    from crbm.commands.report import titled as of_labels

    is_pixels = "image_iou" in next(iter(found["metrics"].values()))
    titled, cases = (of_pixels.titled, "images") if is_pixels else (of_labels, "rows")
    n_cases = found["n_cases"]
    held_out = cases if n_cases > 1 else cases.removesuffix("s")
    typer.echo(
        f"On {n_cases} held-out {held_out}, learned from the other "
        f"{found['n_train']}; the saved model has learned from all {cases}:"
    )
    _print_rows([{"": name, **titled(s)} for name, s in found["metrics"].items()])


def _print_notices(report: Mapping[str, Any]) -> None:
    for notice in report.get("notices", ()):
        _say(f"Note: {notice}", err=True)


def predictions(results: Predictions, out: Path | None, *, as_json: bool) -> None:
    """Print the predictions of `crbm predict`, or the file they were written to."""
    from crbm.commands.output import write_csv

    if out is not None:
        rows_written(len(results.columns[0].values), out, as_json=as_json)
    elif as_json:
        typer.echo(as_text({k: v.tolist() for k, v in results.arrays.items()}))
    else:
        write_csv(sys.stdout, results.columns)


def rows_written(n_rows: int, out: Path | None, *, as_json: bool) -> None:
    """Print where predictions were written."""
    line = f"{n_rows} rows written to {out}"
    typer.echo(as_text({"out": str(out), "n_rows": n_rows}) if as_json else line)


def labelled_images(report: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what `crbm predict` wrote for images."""
    n_images = report["n_images"]
    line = f"{n_images} label PNG{'s' if n_images > 1 else ''} written to "
    typer.echo(as_text(report) if as_json else line + report["out"])


def evaluation(report: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the measures of `crbm evaluate`."""
    from crbm.commands.measures import meaning
    from crbm.commands.pixels.measures import MEANINGS

    if as_json:
        typer.echo(as_text(report))
        return
    table = Table("measure", "value", "meaning")
    for name, value in report["metrics"].items():
        text = MEANINGS[name] if name in MEANINGS else meaning(name)
        table.add_row(name, _format(value), text)
    _say(f"{report['model']} on {report['n_cases']} cases")
    _print(table)
    if "labels" in report:
        _print_rows(report["labels"])
    _print_notices(report)


def inspection(report: Mapping[str, Any], *, as_json: bool) -> None:
    """What `crbm inspect` results."""
    if as_json:
        typer.echo(as_text(report))
        return
    _print_facts({name: value for name, value in report.items() if name not in LISTED})
    names = report["label_names"]
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    _say(f"labels: {', '.join(names[:20])}{more}")
    if "columns" in report:
        _print_rows(report["columns"][:MOST_COLUMNS])
        n_more = len(report["columns"]) - MOST_COLUMNS
        if n_more > 0:
            typer.echo(f"and {n_more} more columns; --json has all")
    _print_rows(report["training"])
    for kind in ("attract", "exclude"):
        if report.get(kind):
            typer.echo(f"labels that {kind} each other most (log odds ratio):")
            for one, other, strength in report[kind]:
                typer.echo(f"  {strength:+.2g}  {_format(one)}, {_format(other)}")
    _print_notices(report)


def exported(report: Mapping[str, Any], *, as_json: bool) -> None:
    """What `crbm export` wrote."""
    if as_json:
        typer.echo(as_text(report))
        return
    names = report["output_names"]
    typer.echo(
        f"{report['file']}: {report['input']} ({report['dtype']}, cases x "
        f"{report['n_inputs']}) -> {report['output']} (cases x {len(names)})"
    )
    _print_notices(report)


def _print_facts(report: Mapping[str, Any]) -> None:
    table = Table.grid(padding=(0, 2))
    for name, value in report.items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{k}={_format(v)}" for k, v in value.items())
        table.add_row(name.replace("_", " "), _format(value))
    _print(table)


def _print_rows(rows: list[dict[str, Any]]) -> None:
    table = Table(*(_format(name.replace("_", " ")) for name in rows[0]))
    for row in rows:
        table.add_row(*(_format(value) for value in row.values()))
    _print(table)


def _format(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else one_line(str(value))


def _say(text: str, *, err: bool = False) -> None:
    """Print a line; names in it come from files."""
    typer.echo(one_line(text, LONGEST_LINE), err=err)


def _print(table: Table) -> None:
    """Print a table; brackets and colons in names are no markup."""
    Console(markup=False, emoji=False).print(table)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
