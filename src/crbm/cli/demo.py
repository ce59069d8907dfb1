"""`crbm demo`: both algorithms of the paper on data in PyPI packages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crbm.cli import options, show
from crbm.cli.errors import plain_errors


@plain_errors
def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the report and the models.")
    ] = Path("demo-results"),
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the digits.")] = 30,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Train models on images and labels in minutes, and write a report."""
    from demo import run as demonstration

    results = demonstration.run(out, n_epochs=epochs, seed=seed, quiet=as_json)
    if as_json:
        typer.echo(show.as_text(results))
