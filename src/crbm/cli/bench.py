"""`crbm bench`: ratios and comparisons measured side by side in one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from crbm.cli.errors import plain_errors

NAMES = "floor, multilabel, peers, growth, loops, precision, large, serve"


@plain_errors
def bench(
    suite: Annotated[str, typer.Option(help=f"What to measure: {NAMES}.")] = "floor",
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="For documents.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="A picture of `growth`, e.g. growth.png.")
    ] = None,
    peer_python: Annotated[
        list[str] | None,
        typer.Option(
            envvar="CRBM_PEER_PYTHON",
            help="An interpreter that has packages to compare with; may be repeated.",
        ),
    ] = None,
) -> None:
    """Measure speed and accuracy against the hardware's limit and against peers."""
    from benchmarks import growth, suites

    if plot is not None and suite != "growth":
        raise ValueError("`--plot` draws the suite growth; add --suite growth.")
    rows = suites.run(
        suite,
        say=lambda text: typer.echo(text, err=True),
        peer_pythons=peer_python or (),
    )
    if plot is not None:
        growth.plot(rows, plot)
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
    elif as_markdown:
        typer.echo(markdown(rows))
    else:
        Console().print(_table(rows, f"crbm bench --suite {suite}"))


def markdown(rows: list[dict[str, Any]]) -> str:
    """The rows as a table of a Markdown document."""
    lines = [_cells(rows[0]), ["---"] * len(_cells(rows[0]))]
    lines += [[_shown(row[name]) for name in _cells(rows[0])] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _table(rows: list[dict[str, Any]], title: str) -> Table:
    names = _cells(rows[0])
    table = Table(*names, title=title)
    for row in rows:
        table.add_row(*(_shown(row[name]) for name in names))
    return table


def _cells(row: dict[str, Any]) -> list[str]:
    """The columns to show; lists are for scripts."""
    return [name for name, value in row.items() if not isinstance(value, list)]


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
