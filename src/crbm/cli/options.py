"""Arguments and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from crbm.commands.reading import Reading, parse_labels, parse_names

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A data file, a folder of images or a name from `crbm data list`.",
    ),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file from `crbm train`.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Masks = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="For a folder of images: the folder of their masks, matched by name.",
    ),
]
Threshold = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65535,
        help="For masks that are grey images: values above it are label 1.",
    ),
]
Ignore = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL",
        help="For masks: the label of pixels that nobody labelled, e.g. 255.",
    ),
]
Progress = Annotated[
    bool | None,
    typer.Option(help="Show a progress bar. Default: only on a terminal."),
]

Labels = Annotated[
    str | None,
    typer.Option(
        help="Which columns are labels: names, as in `a,b`; a number n for the first n "
        "columns, or -n for the last n; a Mulan XML file; an IDX file of classes; or "
        "`none`. For images: names of the labels of the pixels."
    ),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        "--label-separator",
        metavar="TEXT",
        help="What separates the labels of a row, if one column has all of them, as in "
        "`a;b`.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="File format: csv (any separator), parquet, arrow, excel, json, arff, "
        "libsvm, npz or idx. Default: from the file name."
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
Drop = Annotated[
    str | None, typer.Option(metavar="A,B", help="Columns of a table to leave out.")
]
Categorical = Annotated[
    str | None,
    typer.Option(
        metavar="A,B", help="Columns of a table that hold categories, e.g. codes."
    ),
]
Text = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Columns of a table that hold texts."),
]
# The fields of `Reading`: the type of the option and its default.
READING_OPTIONS = {
    "labels": (Labels, None),
    "format": (Format, None),
    "n_labels": (NLabels, None),
    "n_features": (NFeatures, None),
    "zero_based": (ZeroBased, False),
    "part": (Part, None),
    "label_separator": (LabelSeparator, None),
}

COLUMN_OPTIONS = {
    "drop": (Drop, None),
    "categorical": (Categorical, None),
    "text": (Text, None),
}


def with_reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace the parameter `reading` of a command by one option per field of it."""
    return _with_options(command, READING_OPTIONS)


def with_training_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with the options that decide how columns are learned from."""
    return _with_options(command, READING_OPTIONS | COLUMN_OPTIONS)


def _with_options(
    command: Callable[..., Any], chosen: dict[str, Any]
) -> Callable[..., Any]:
    parameters: list[Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        is_reading = parameter.name == "reading"
        parameters += _reading_parameters(chosen) if is_reading else [parameter]

    @wraps(command)
    def run(*args: Any, **values: Any) -> Any:
        fields = {name: values.pop(name) for name in READING_OPTIONS if name in values}
        labels = parse_labels(fields.pop("labels", None))
        for name in COLUMN_OPTIONS:
            fields[name] = parse_names(values.pop(name, None))
        return command(*args, **values, reading=Reading(labels, **fields))

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _reading_parameters(chosen: dict[str, Any]) -> list[Parameter]:
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=option)
        for name, (option, default) in chosen.items()
    ]
