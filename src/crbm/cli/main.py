"""The `crbm` command."""

from __future__ import annotations

from typing import Annotated

import typer

import crbm
from crbm.cli import (
    data,
    evaluate,
    export,
    hub,
    inspect,
    predict,
    repository,
    serve,
    train,
)
from crbm.cli.errors import PlainGroup

app = typer.Typer(
    cls=PlainGroup,
    help="Structured output prediction with conditional restricted Boltzmann machines.",
    no_args_is_help=True,
)
app.command()(train.train)
app.command()(predict.predict)
app.command()(evaluate.evaluate)
app.command()(inspect.inspect)
app.command()(export.export)
app.command()(hub.push)
app.command()(hub.pull)
app.add_typer(data.app, name="data")
app.command()(serve.serve)
repository.add_commands(app)


def _print_version(requested: bool) -> bool:
    if requested:
        typer.echo(f"crbm {crbm.__version__}")
        raise typer.Exit
    return requested


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Structured output prediction with conditional restricted Boltzmann machines."""
