"""`crbm train` and `crbm predict` on folders of tables that are larger than memory."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from crbm import paths
from crbm.commands.output import (
    check_checkpoint_dir,
    check_output_path,
    save_or_keep,
    short,
)
from crbm.commands.reading import Reading
from crbm.commands.train import check_parameters, make_classifier, summary
from crbm.datasets import open_rows, open_table
from crbm.datasets.formats._common import require
from crbm.datasets.stored import is_table_folder, table_files
from crbm.estimators import LabelSetClassifier, StructuredClassifier
from crbm.estimators.inputs import column_names

UNMEASURED = (
    "No error was measured: rows of a folder are not held out. Keep a file back and "
    "use `crbm evaluate`."
)
Write = Callable[[np.ndarray], None]


def is_stored(source: str) -> bool:
    """Whether this names a folder of Parquet or Arrow files."""
    return is_table_folder(Path(source))


def train(
    source: str,
    out: Path,
    *,
    model: str | None,
    parameters: Mapping[str, Any],
    preprocessing: str | None,
    reading: Reading,
    force: bool = False,
) -> dict[str, Any]:
    """Train a classifier on the files of a folder, reading them a piece at a time.

    Parameters
    ----------
    source, reading
        The folder, and which columns are labels and which are left out.
    out, force
        The model file, and whether an existing file may be replaced.
    model, parameters
        A single model, `hash-crbm` by default, and parameters of its classifier.
    preprocessing
        Preprocessing of the inputs; `auto` by default.
    """
    check_output_path(out, force=force, endings=(".safetensors",))
    check_checkpoint_dir(parameters.get("checkpoint_dir"))
    labels = _label_names(source, reading)
    X, Y = open_table(source, labels, reading.drop)
    classifier = make_classifier(model or "hash-crbm", {})
    if not isinstance(classifier, StructuredClassifier):
        raise ValueError(
            f"`{model}` cannot learn from a folder, which may be larger than memory. "
            "Use --model hash-crbm, crbm, crf or logreg."
        )
    classifier.set_params(preprocessing=preprocessing or "auto")
    classifier.set_params(**check_parameters(classifier, parameters))
    classifier.fit(X, Y)
    classifier.describe(
        trained_on={
            "name": Path(source).name,
            "part": "all",
            "n_cases": len(X),
            "n_files": len(table_files(Path(source))),
            "feature_names": list(X.names or ()),
            "columns": getattr(X, "columns", []),
        }
    )
    save_or_keep(classifier, out)
    return {"out": str(out), **summary(classifier), "notices": [UNMEASURED]}


def predict(
    classifier: LabelSetClassifier,
    source: str,
    out: Path | None,
    *,
    proba: bool = False,
    progress: bool | None = None,
    force: bool = False,
) -> int:
    """Predict the rows of a folder into a CSV or Parquet file; return their number.

    Parameters
    ----------
    classifier, source
        A fitted classifier and the folder.
    out, force
        The file to write, and whether an existing file may be replaced.
    proba
        Whether to write probabilities of the labels instead of labels.
    progress
        Whether to show a bar; None does so on a terminal only.
    """
    if out is None:
        raise ValueError("Name a file for the predictions of a folder with --out.")
    check_output_path(out, force=force, endings=(".csv", ".parquet"))
    if hasattr(classifier, "encoder_"):
        raise ValueError(
            "The model encodes columns that are not numbers, which folders larger than "
            "memory do not support. Predict the files one by one."
        )
    columns = getattr(classifier, "trained_on_", {}).get("columns")
    X = open_rows(source, columns or column_names(classifier))
    if X.shape[1] != classifier.n_features_in_:
        raise ValueError(
            f"The model needs {classifier.n_features_in_} columns; the tables have "
            f"{X.shape[1]}. Give it the columns it was trained on."
        )
    names = list(classifier.label_names_)
    if classifier.columns_ is not None and not proba:
        names = classifier.columns_.names
    with paths.replacing(out) as draft, _writer(draft, out.suffix, names) as write:
        for piece in _tracked(X.all_pieces(), len(X), progress):
            if proba:
                write(classifier.predict_with_proba(piece)[1])
            else:
                write(classifier.predict(piece).reshape(len(piece), -1))
    return len(X)


def _label_names(source: str, reading: Reading) -> tuple[str, ...]:
    labels = reading.labels
    if not isinstance(labels, tuple) or not labels:
        raise ValueError(
            f"`{source}`: name the columns of the labels with --labels, as in "
            "`--labels a,b`."
        )
    unsupported = reading.part or reading.label_separator or reading.categorical
    if unsupported or reading.text or reading.format:
        raise ValueError(
            "A folder of tables takes only --labels and --drop of the options that "
            "describe data."
        )
    return labels


@contextmanager
def _writer(path: Path, ending: str, names: Sequence[str]) -> Iterator[Write]:
    """A function that appends rows to a table."""
    if ending == ".csv":
        with path.open("w", encoding="utf-8", newline="") as stream:
            table = csv.writer(stream, lineterminator="\n")
            table.writerow(names)
            yield lambda rows: table.writerows(map(short, row) for row in rows.tolist())
        return
    pa = require("pyarrow", "pyarrow", "Writing Parquet")
    parquet = require("pyarrow.parquet", "pyarrow", "Writing Parquet")
    writer: Any = None

    def append(rows: np.ndarray) -> None:
        nonlocal writer
        table = pa.Table.from_arrays([pa.array(c) for c in rows.T], names=names)
        if writer is None:
            writer = parquet.ParquetWriter(str(path), table.schema)
        writer.write_table(table)

    try:
        yield append
    finally:
        if writer is not None:
            writer.close()


def _tracked(
    pieces: Iterator[np.ndarray], n_rows: int, show: bool | None
) -> Iterator[np.ndarray]:
    """The pieces, with a bar of the rows that are done."""
    console = Console(stderr=True)
    visible = console.is_terminal if show is None else show
    with Progress(console=console, transient=True, disable=not visible) as display:
        task = display.add_task("predicting", total=n_rows)
        for piece in pieces:
            yield piece
            display.advance(task, len(piece))
