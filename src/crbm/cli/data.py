"""`crbm data`: which data sets there are, and getting them."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from crbm import datasets
from crbm.cli.errors import plain_errors

app = typer.Typer(help="List and fetch data sets.", no_args_is_help=True)


@app.command("list")
@plain_errors
def list_data(
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """The data sets known by name, and where each was found on this machine."""
    rows = datasets.available()
    if as_json:
        typer.echo(json.dumps([row._asdict() for row in rows], indent=1))
        return
    table = Table("name", "what", "on this machine")
    for row in rows:
        table.add_row(row.name, row.title, "yes" if row.place else "-")
    Console().print(table)


@app.command()
@plain_errors
def fetch(
    name: Annotated[str, typer.Argument(help="A name from `crbm data list`.")],
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Get the files of a data set, from this machine or its public source."""
    paths = [str(path) for path in datasets.fetch(name)]
    if as_json:
        typer.echo(json.dumps({"name": name, "files": paths}))
        return
    for path in paths or [f"{name} comes with an installed package; nothing to fetch."]:
        typer.echo(path)
