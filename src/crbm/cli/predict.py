"""`crbm predict`: labels for the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crbm.cli import options, show
from crbm.cli.errors import plain_errors
from crbm.commands import predict as task
from crbm.commands.data import Reading, parse_labels


@plain_errors
def predict(
    model: options.Model,
    data: options.Data,
    out: Annotated[
        Path | None, typer.Option(help="A .csv, .parquet or .npz file; else printed.")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities instead of labels.")
    ] = False,
    top_k: Annotated[
        int | None,
        typer.Option(
            "--top-k", min=1, metavar="K", help="The K likeliest label sets instead."
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(help="A file of labels known already, empty where unknown."),
    ] = None,
    labels: options.Labels = None,
    format: options.Format = None,
    n_labels: options.NLabels = None,
    n_features: options.NFeatures = None,
    zero_based: options.ZeroBased = False,
    part: options.Part = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict the labels of DATA, which needs none itself."""
    predictions = task.run(
        model,
        data,
        how=Reading(
            parse_labels(labels), format, n_labels, n_features, zero_based, part
        ),
        proba=proba,
        top_k=top_k,
        known=known,
        out=out,
        force=force,
    )
    show.predictions(predictions, out, as_json=as_json)
