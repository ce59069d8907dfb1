"""`crbm data`: list and download data sets."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from crbm.cli import options
from crbm.cli.errors import plain_errors

app = typer.Typer(help="List and download data sets.", no_args_is_help=True)


@app.command("list")
@plain_errors
def list_data(as_json: options.Json = False) -> None:
    """List the data sets that have a name, and whether they are on this machine."""
    from crbm import datasets

    rows = datasets.available()
    if as_json:
        typer.echo(json.dumps([row._asdict() for row in rows], indent=1))
        return
    table = Table("name", "description", "on this machine")
    for row in rows:
        table.add_row(row.name, row.title, "yes" if row.place else "-")
    Console().print(table)


@app.command()
@plain_errors
def fetch(
    name: Annotated[str, typer.Argument(help="A name from `crbm data list`.")],
    as_json: options.Json = False,
) -> None:
    """Download a data set unless it is on this machine, and print its files."""
    from crbm import datasets

    paths = [str(path) for path in datasets.fetch(name)]
    if as_json:
        typer.echo(json.dumps({"name": name, "files": paths}))
        return
    for path in paths or [f"{name} is part of an installed package."]:
        typer.echo(path)
