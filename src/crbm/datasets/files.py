"""The door for users' own files: the format is told by the name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crbm.datasets.dataset import Dataset
from crbm.datasets.formats import (
    arff,
    arff_writer,
    idx,
    libsvm,
    npz,
    table,
    table_writer,
)

FORMATS = ("arff", "libsvm", "csv", "parquet", "npz", "idx")
_ENDINGS = {
    ".arff": "arff",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".idx": "idx",
}
_MNIST_NAME = re.compile(r"[-.]idx\d(-ubyte)?$")


def read(
    path: Path | str,
    labels: Sequence[str] | Path | int | None = None,
    format: str | None = None,
    **options: Any,
) -> Dataset:
    """The data set in a file of the user's own.

    Parameters
    ----------
    path
        The file; text formats and IDX may be gzip.
    labels
        What the labels are. ARFF, CSV, Parquet: names of columns, or their number
        (first n, last n if negative); ARFF also Mulan's XML file. libsvm: names
        for the label ids. IDX: the file of class numbers. ``()`` for none. NPZ
        names its own.
    format
        ``"arff"``, ``"libsvm"``, ``"csv"``, ``"parquet"``, ``"npz"`` or ``"idx"``;
        by default told from the file's name.
    **options
        Passed to the format's own reader: `max_bytes`; `n_features`, `n_labels`
        and `zero_based` for libsvm.

    Raises
    ------
    ValueError
        If the file is damaged; the message names the file and the line.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = file.write_text("weight,dog\\n30.5,1\\n4,0\\n")
    >>> read(file, labels=["dog"])
    Dataset(name='pets', X=(2, 1) dense, Y=(2, 1) dense, splits=[])
    """
    path = Path(path)
    kind = format or format_of(path)
    labels = _one_or_many(labels)
    if kind in ("csv", "parquet") and labels is None:
        raise ValueError(
            f"`{path}` is a table: pass `labels`, the names of its label columns "
            "(or `()` if it has none)."
        )
    match kind:
        case "arff":
            return arff.read(path, labels, **options)
        case "libsvm":
            return libsvm.read(path, _names_only(path, labels), **options)
        case "csv":
            return table.read_csv(path, _no_file(path, labels), **options)
        case "parquet":
            return table.read_parquet(path, _no_file(path, labels), **options)
        case "npz":
            return npz.read(path, **options)
        case "idx":
            return idx.read(path, _class_file(labels), **options)
    known = ", ".join(f"`{name}`" for name in FORMATS)
    raise ValueError(f"Unknown format `{kind}`; use one of {known}.")


def write(path: Path | str, data: Dataset, format: str | None = None) -> None:
    """Write a data set in the format that the name tells.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> file = Path(tempfile.mkdtemp()) / "eye.npz"
    >>> write(file, Dataset(X=np.eye(2, dtype=np.float32), Y=np.eye(2, dtype=np.uint8)))
    >>> read(file).Y.tolist()
    [[1, 0], [0, 1]]
    """
    path = Path(path)
    writers = {
        "arff": arff_writer.write,
        "libsvm": libsvm.write,
        "csv": table_writer.write_csv,
        "parquet": table_writer.write_parquet,
        "npz": npz.write,
    }
    kind = format or format_of(path)
    if kind not in writers:
        known = ", ".join(f"`{name}`" for name in writers)
        raise ValueError(f"A data set is written as one of {known}, not `{kind}`.")
    writers[kind](path, data)


def format_of(path: Path) -> str:
    """The format that a file's name tells."""
    name = path.name.lower().removesuffix(".gz")
    if _MNIST_NAME.search(name):
        return "idx"
    kind = _ENDINGS.get(Path(name).suffix)
    if kind is None:
        known = ", ".join(_ENDINGS)
        raise ValueError(
            f"`{path}`: the name tells no format (known endings: {known}). "
            "Pass `format`."
        )
    return kind


def _one_or_many(labels: Any) -> Any:
    """A lone string is one name, or a file if it ends in ``.xml``, not letters."""
    if isinstance(labels, str):
        is_file = labels.endswith(".xml") or _MNIST_NAME.search(
            labels.removesuffix(".gz")
        )
        return Path(labels) if is_file else (labels,)
    return labels


def _names_only(path: Path, labels: Any) -> Any:
    if isinstance(labels, int | Path):
        raise ValueError(
            f"`{path}` is libsvm: `labels` are names for its label ids; "
            "pass `n_labels` for their number."
        )
    return labels


def _no_file(path: Path, labels: Any) -> Any:
    if isinstance(labels, Path):
        raise ValueError(f"`{path}` is a table: `labels` are names of its columns.")
    return labels


def _class_file(labels: Any) -> Path | None:
    if not labels:
        return None
    if isinstance(labels, Path):
        return labels
    raise ValueError("For IDX images `labels` is the IDX file of class numbers.")
