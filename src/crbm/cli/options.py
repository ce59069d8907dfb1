"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="A name from `crbm data list`, or a file."),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file from `crbm train`.")
]
Labels = Annotated[
    str | None,
    typer.Option(
        help="Label columns: names `a,b`; a number, the first n or, if negative, the "
        "last n; a Mulan XML file; an IDX file of classes; or `none`."
    ),
]
Format = Annotated[
    str | None,
    typer.Option(help="arff, csv, parquet, libsvm, npz or idx, if the name is silent."),
]
NLabels = Annotated[
    int | None, typer.Option("--n-labels", min=1, help="libsvm: number of labels.")
]
NFeatures = Annotated[
    int | None, typer.Option("--n-features", min=1, help="libsvm: number of features.")
]
ZeroBased = Annotated[
    bool, typer.Option("--zero-based", help="libsvm: features count from 0.")
]
Part = Annotated[
    str | None,
    typer.Option(help="Rows: train, valid, test (official, else 80/10/10) or all."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
