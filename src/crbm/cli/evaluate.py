"""`crbm evaluate`: measure a model's predictions on labelled data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crbm.cli import options, show
from crbm.cli.errors import plain_errors
from crbm.commands.reading import Reading


@plain_errors
@options.with_reading_options
def evaluate(
    model: options.Model,
    data: options.Data,
    *,
    per_label: Annotated[
        bool, typer.Option("--per-label", help="Also measure each label.")
    ] = False,
    joint: Annotated[
        bool,
        typer.Option("--joint", help="Estimate the joint log loss even if it is slow."),
    ] = False,
    draw: Annotated[
        Path | None,
        typer.Option(help="Draw the calibration curve to this .png or .svg file."),
    ] = None,
    masks: options.Masks = None,
    ignore: options.Ignore = None,
    progress: options.Progress = None,
    reading: Reading,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Measure a model's predictions on DATA, which must contain the labels."""
    from crbm.commands import evaluate as command
    from crbm.commands.pixels import model as pixel_model
    from crbm.commands.pixels.data import ImageReading

    pixels = pixel_model.load_if_pixels(model)
    if pixels is not None:
        from crbm.commands.pixels import evaluate as measuring

        if draw is not None:
            raise ValueError("--draw does not apply to models of images.")
        report = measuring.run(
            pixels,
            model,
            data,
            reading=ImageReading.of(reading, masks, ignore=ignore),
            per_label=per_label,
            joint=joint,
            progress=progress,
        )
        show.evaluation(report, as_json=as_json)
        return
    if masks is not None or ignore is not None:
        raise ValueError(f"`{model}` is not a model of images; leave out --masks.")
    report = command.run(
        model,
        data,
        reading=reading,
        per_label=per_label,
        joint=joint,
        draw=draw,
        force=force,
    )
    show.evaluation(report, as_json=as_json)
