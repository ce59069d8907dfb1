"""`crbm train`: learn a model from a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crbm.cli import options, show
from crbm.cli.errors import plain_errors
from crbm.commands import train as task
from crbm.commands.data import Reading, parse_labels
from crbm.preprocessing import KINDS


class Kind(StrEnum):
    """What can be trained."""

    HASH_CRBM = "hash-crbm"
    CRBM = "crbm"
    CRF = "crf"
    LOGREG = "logreg"


@plain_errors
def train(
    data: options.Data,
    out: Annotated[Path, typer.Option(help="The model file to write.")],
    model: Annotated[Kind, typer.Option(help="What to train.")] = Kind.HASH_CRBM,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the classifier; often."
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 30,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    preprocessing: Annotated[
        str | None,
        typer.Option(
            "--preprocessing",
            "--scale",
            metavar="|".join(KINDS),
            help="Of the inputs, kept in the model; by default standardise, or none "
            "where all inputs are 0 or 1.",
        ),
    ] = None,
    validation: Annotated[
        float | None,
        typer.Option(help="Share of rows held out to choose the epoch to keep."),
    ] = None,
    checkpoint_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of its own in which to keep an unfinished run."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the folder's checkpoint.")
    ] = False,
    progress: Annotated[
        bool | None, typer.Option(help="A progress bar; on a terminal by default.")
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
    """Train a model on DATA and save it with its label names and preprocessing."""
    report = task.run(
        data,
        out,
        model=model.value,
        settings={
            "n_epochs": epochs,
            "random_state": seed,
            "checkpoint_dir": checkpoint_dir,
            "resume": resume,
            "progress": progress,
            **task.parse_settings(settings or ()),
        },
        preprocessing=preprocessing,
        validation=validation,
        how=Reading(
            parse_labels(labels), format, n_labels, n_features, zero_based, part
        ),
        force=force,
    )
    show.trained(report, as_json=as_json)
