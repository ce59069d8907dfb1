"""The `crbm` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import crbm
from crbm.cli import (
    bench,
    data,
    evaluate,
    inspect,
    options,
    predict,
    reproduce,
    serve,
    show,
    train,
)
from crbm.cli.errors import PlainGroup, plain_errors

app = typer.Typer(
    cls=PlainGroup,
    help="Structured output prediction with conditional restricted Boltzmann machines.",
    no_args_is_help=True,
)
app.command()(train.train)
app.command()(predict.predict)
app.command()(evaluate.evaluate)
app.command()(inspect.inspect)
app.add_typer(data.app, name="data")
app.command()(bench.bench)
app.command()(reproduce.reproduce)
app.command()(serve.serve)


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


@app.command()
@plain_errors
def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the report and the models.")
    ] = Path("demo-results"),
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the digits.")] = 30,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Both algorithms on embedded data: two tables and a report, in minutes."""
    from demo import run as demonstration

    found = demonstration.run(out, n_epochs=epochs, seed=seed, quiet=as_json)
    if as_json:
        typer.echo(show.as_text(found))
