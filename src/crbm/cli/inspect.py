"""`crbm inspect`: describe a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crbm.cli import options, show
from crbm.cli.errors import plain_errors


@plain_errors
def inspect(
    model: options.Model,
    pairs: Annotated[
        int,
        typer.Option(
            min=1, help="Number of label pairs to list of each kind (attract, exclude)."
        ),
    ] = 5,
    draw: Annotated[
        Path | None,
        typer.Option(
            help="Draw the filters of an image model, or else the label couplings, to "
            "this .png or .svg file."
        ),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(help="Write a model card, a page to publish, to this .md file."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Describe a model, its training, and which of its labels go together."""
    from crbm.commands import card as cards, inspect as command
    from crbm.commands.pixels import inspect as of_pixels
    from crbm.commands.pixels.model import load_if_pixels

    pixels = load_if_pixels(model)
    if pixels is not None and draw is not None:
        raise ValueError("--draw does not apply to models of images.")
    if pixels is not None:
        report = of_pixels.run(pixels, model)
    else:
        report = command.run(model, n_pairs=pairs, draw=draw, force=force)
    if card is not None:
        cards.write(report, card, force=force)
    show.inspection(report, as_json=as_json)
