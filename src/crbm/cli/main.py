"""The `crbm` command."""

from __future__ import annotations

import os
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

# oneDNN keeps what it prepared for each shape, in two caches of 1,024 entries unless
# these say less: 0.6 GB after 500 images of different sizes. A server's batches of 1 to
# 32 cases need some 200 entries.
ONEDNN_CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")

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
    for name in ONEDNN_CACHES:
        os.environ.setdefault(name, "256")
