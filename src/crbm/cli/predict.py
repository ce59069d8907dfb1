"""`crbm predict`: predict the labels of the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crbm.cli import options, show
from crbm.cli.errors import plain_errors
from crbm.commands.reading import Reading


@plain_errors
@options.with_reading_options
def predict(
    model: options.Model,
    data: options.Data,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write to this .csv, .parquet or .npz file. Default: print CSV."
        ),
    ] = None,
    proba: Annotated[
        bool,
        typer.Option("--proba", help="Give label probabilities instead of labels."),
    ] = False,
    top_k: Annotated[
        int | None,
        typer.Option(
            "--top-k",
            min=1,
            metavar="K",
            help="Give the K most probable label sets instead of labels.",
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            help="A .csv, .parquet or .npz file of labels that are known already, with "
            "empty cells (NaN) for the others."
        ),
    ] = None,
    reading: Reading,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict the labels of DATA, which need not contain any."""
    from crbm.commands import predict as command

    predictions = command.run(
        model,
        data,
        reading=reading,
        proba=proba,
        top_k=top_k,
        known=known,
        out=out,
        force=force,
    )
    show.predictions(predictions, out, as_json=as_json)
