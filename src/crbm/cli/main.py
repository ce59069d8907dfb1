"""The `crbm` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import crbm
from crbm.cli import bench, data
from crbm.cli.errors import plain_errors
from crbm.experiments import demo as demonstration

app = typer.Typer(
    help="Structured output prediction with conditional RBMs.", no_args_is_help=True
)
app.add_typer(data.app, name="data")
app.command()(bench.bench)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"crbm {crbm.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Structured output prediction with conditional restricted Boltzmann machines."""


@app.command()
@plain_errors
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the digits.")] = 30,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
) -> None:
    """Both algorithms on embedded data: two tables and a picture, in minutes."""
    demonstration.run(out, n_epochs=epochs, seed=seed)
