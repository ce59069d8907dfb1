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
            help="Write to this .csv, .parquet or .npz file. Default: print CSV. For "
            "images: the folder for the label PNGs."
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
    progress: options.Progress = None,
    reading: Reading,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict the labels of DATA, which need not contain any.

    DATA may be a folder of Parquet or Arrow files, which is read a piece at a time.
    A model of images writes one PNG file per image, with a palette, into --out.
    """
    from crbm.commands import predict as command, stored
    from crbm.commands.pixels import model as pixel_model
    from crbm.commands.pixels.data import ImageReading

    pixels = pixel_model.load_if_pixels(model)
    if pixels is not None:
        from crbm.commands.pixels import predict as labelling

        if top_k is not None or known is not None:
            raise ValueError("--top-k and --known do not apply to images.")
        report = labelling.run(
            pixels,
            data,
            out,
            reading=ImageReading.of(reading),
            proba=proba,
            progress=progress,
            force=force,
        )
        show.labelled_images(report, as_json=as_json)
        return
    if stored.is_stored(data):
        from crbm.estimators import load

        if top_k is not None or known is not None:
            raise ValueError("--top-k and --known do not apply to folders of tables.")
        n_rows = stored.predict(
            load(model), data, out, proba=proba, progress=progress, force=force
        )
        show.rows_written(n_rows, out, as_json=as_json)
        return
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
