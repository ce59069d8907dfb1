"""`crbm export`: write a model for another runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crbm.cli import options, show
from crbm.cli.errors import plain_errors

FORMATS = ("onnx",)


@plain_errors
def export(
    model: options.Model,
    to: Annotated[
        str, typer.Option("--to", help="The format; onnx is the only one.")
    ] = "onnx",
    out: Annotated[
        Path | None,
        typer.Option(help="Write to this .onnx file. Default: beside the model."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write the probabilities of the labels as a model for ONNX runtimes.

    Missing values, scalings and kernels are part of it. Labels that are known already
    and the choice of whole label sets are not.
    """
    from crbm import checks

    checks.one_of("--to", to, FORMATS)
    from crbm.commands import export as command

    show.exported(command.run(model, out=out, force=force), as_json=as_json)
