"""`crbm bench`: measure speed and accuracy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from crbm.cli.errors import plain_errors

NAMES = (
    "floor, gpu, multilabel, peers, growth, loops, images, network, precision, ranks, "
    "cluster, large, stored, table, serve"
)


@plain_errors
def bench(
    suite: Annotated[str, typer.Option(help=f"What to measure: {NAMES}.")] = "floor",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a Markdown table.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the rows to this JSON file too; the suite `stored` continues "
            "from the rows in it."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot the suite `growth` to this file.")
    ] = None,
    peer_python: Annotated[
        list[str] | None,
        typer.Option(
            envvar="CRBM_PEER_PYTHON",
            help="A Python interpreter that has peers installed. May be repeated.",
        ),
    ] = None,
) -> None:
    """Measure speed and accuracy, compared with other packages."""
    from benchmarks import growth, suites

    if plot is not None and suite != "growth":
        raise ValueError("`--plot` needs the suite `growth`; add `--suite growth`.")
    rows = suites.run(
        suite,
        echo=lambda text: typer.echo(text, err=True),
        peer_pythons=peer_python or (),
        out=out,
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
    """The rows as a Markdown table."""
    lines = [_columns(rows[0]), ["---"] * len(_columns(rows[0]))]
    lines += [[_format(row[name]) for name in _columns(rows[0])] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _table(rows: list[dict[str, Any]], title: str) -> Table:
    names = _columns(rows[0])
    table = Table(*names, title=title)
    for row in rows:
        table.add_row(*(_format(row[name]) for name in names))
    return table


def _columns(row: dict[str, Any]) -> list[str]:
    """The columns to show; lists appear in the JSON only."""
    return [name for name, value in row.items() if not isinstance(value, list)]


def _format(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
