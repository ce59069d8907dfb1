"""`crbm evaluate`: how good a model is on labelled data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crbm.cli import options, show
from crbm.cli.errors import plain_errors
from crbm.commands import evaluate as task
from crbm.commands.data import Reading, parse_labels


@plain_errors
def evaluate(
    model: options.Model,
    data: options.Data,
    per_label: Annotated[
        bool, typer.Option("--per-label", help="Measure each label too.")
    ] = False,
    joint: Annotated[
        bool,
        typer.Option("--joint", help="The joint log loss also where it takes long."),
    ] = False,
    draw: Annotated[
        Path | None, typer.Option(help="A .png or .svg file for the calibration curve.")
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
    """Measure a model's predictions on DATA."""
    report = task.run(
        model,
        data,
        how=Reading(
            parse_labels(labels), format, n_labels, n_features, zero_based, part
        ),
        per_label=per_label,
        joint=joint,
        draw=draw,
        force=force,
    )
    show.evaluation(report, as_json=as_json)
