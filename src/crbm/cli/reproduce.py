"""`crbm reproduce`: the paper's tables and figures, by its protocol."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crbm.cli.errors import plain_errors


class Target(StrEnum):
    """What can be reproduced."""

    TABLE1 = "table1"
    TABLE2 = "table2"
    FIGURE2 = "figure2"
    TRIALS = "trials"
    IMAGES = "images"
    SUITE = "suite"
    OUTPUTS = "outputs"
    SUCCESSORS = "successors"
    RULES = "rules"
    BASES = "bases"
    UNTUNED = "untuned"
    REPORT = "report"


@plain_errors
def reproduce(
    target: Annotated[
        Target,
        typer.Argument(
            help="`trials` runs variants of the models of both tables; `images` "
            "compares classifiers of pixels; `outputs` runs digits, letters, motion "
            "and real targets; `suite` compares with other libraries on "
            "nine data sets; `successors` with what was published after the paper; "
            "`rules` compares objectives; `bases` classifiers alone and in a HashCRBM; "
            "`untuned` our defaults with scikit-learn's; `report` only renders the "
            "report."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder for the results. Finished runs are not repeated."),
    ] = Path("results"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a small version.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Number of parallel runs.")] = 1,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler that runs them.")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            help="Data set of `bases`, `images`, `outputs`, `rules` or `untuned`, e.g. "
            "horses, letters or yeast. May be repeated."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Repeat the paper's experiments; an interrupted command resumes."""
    from paper.report import reproduce as reproduction

    paths = reproduction.run(
        target.value,
        out,
        quick=quick,
        n_jobs=jobs,
        dask=dask,
        names=dataset,
        echo=lambda text: typer.echo(text, err=True),
    )
    if as_json:
        typer.echo(json.dumps([str(path) for path in paths]))
        return
    for path in paths:
        typer.echo(path)
