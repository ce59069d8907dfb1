"""Arguments and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from crbm.commands.reading import Reading, parse_labels

Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="A data file or a name from `crbm data list`."),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file from `crbm train`.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Labels = Annotated[
    str | None,
    typer.Option(
        help="Which columns are labels: names, as in `a,b`; a number n for the first n "
        "columns, or -n for the last n; a Mulan XML file; an IDX file of classes; or "
        "`none`."
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="File format: arff, csv, parquet, libsvm, npz or idx. Default: from the "
        "file name."
    ),
]
NLabels = Annotated[
    int | None,
    typer.Option("--n-labels", min=1, help="Number of labels in a libsvm file."),
]
NFeatures = Annotated[
    int | None,
    typer.Option("--n-features", min=1, help="Number of features in a libsvm file."),
]
ZeroBased = Annotated[
    bool,
    typer.Option("--zero-based", help="Feature numbers of a libsvm file start at 0."),
]
Part = Annotated[
    str | None,
    typer.Option(
        help="Which rows to use: train, valid, test or all. The parts are the official "
        "ones if the data set has any, else an 80/10/10 split."
    ),
]
# The fields of `Reading`, in their order: the type of the option and its default.
READING_OPTIONS = {
    "labels": (Labels, None),
    "format": (Format, None),
    "n_labels": (NLabels, None),
    "n_features": (NFeatures, None),
    "zero_based": (ZeroBased, False),
    "part": (Part, None),
}


def with_reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace the parameter `reading` of a command by one option per field of it."""
    parameters: list[Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        is_reading = parameter.name == "reading"
        parameters += _reading_parameters() if is_reading else [parameter]

    @wraps(command)
    def run(*args: Any, **values: Any) -> Any:
        fields = {name: values.pop(name) for name in READING_OPTIONS if name in values}
        labels = parse_labels(fields.pop("labels", None))
        return command(*args, **values, reading=Reading(labels, **fields))

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _reading_parameters() -> list[Parameter]:
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=option)
        for name, (option, default) in READING_OPTIONS.items()
    ]
