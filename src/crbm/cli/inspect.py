"""`crbm inspect`: what a model file is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crbm.cli import options, show
from crbm.cli.errors import plain_errors
from crbm.commands import inspect as task


@plain_errors
def inspect(
    model: options.Model,
    pairs: Annotated[
        int, typer.Option(min=1, help="How many pairs of labels to name.")
    ] = 5,
    draw: Annotated[
        Path | None,
        typer.Option(help="A .png or .svg file for filters or label couplings."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Tell what a model is, how it was trained, and which labels go together."""
    report = task.run(model, n_pairs=pairs, draw=draw, force=force)
    show.inspection(report, as_json=as_json)
