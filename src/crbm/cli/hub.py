"""`crbm push` and `crbm pull`: model files on the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crbm.cli import options
from crbm.cli.errors import plain_errors

Repository = Annotated[
    str, typer.Argument(metavar="OWNER/NAME", help="A repository on the hub.")
]


@plain_errors
def push(
    model: options.Model,
    repository: Repository,
    private: Annotated[
        bool | None,
        typer.Option(help="Whether a new repository is private."),
    ] = None,
) -> None:
    """Upload a model and its card to the Hugging Face hub.

    Log in first, with `hf auth login`.
    """
    from crbm.commands import hub

    typer.echo(hub.push(model, repository, private=private))


@plain_errors
def pull(
    repository: Repository,
    out: Annotated[
        Path | None,
        typer.Option(help="The new file. Default: NAME.safetensors."),
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="A branch, tag or commit.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Download a model from the Hugging Face hub and check it."""
    from crbm.commands import hub

    path = hub.pull(repository, out, revision=revision, force=force)
    typer.echo(f"{path}; next: crbm inspect {path}")
