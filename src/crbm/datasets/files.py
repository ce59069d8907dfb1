"""Read and write a user's file in any of the formats."""

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

TABLES = tuple(table.READERS)
FORMATS = ("arff", "libsvm", *TABLES, "npz", "idx")
_ENDINGS = {
    ".arff": "arff",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
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
    """Read a data set from a file.

    Parameters
    ----------
    path
        The file. Text formats and IDX may be compressed with gzip.
    labels
        Which columns are labels, depending on the format. ARFF and tables: their
        names, or their number (n for the first n columns, -n for the last n); for
        ARFF also the path of Mulan's XML file. libsvm: names for the label ids. IDX:
        the path of the file of class numbers. NPZ: nothing, the file has them.
        ``()`` for a file without labels.
    format
        ``"csv"`` (any separator), ``"parquet"``, ``"arrow"``, ``"excel"``, ``"json"``,
        ``"arff"``, ``"libsvm"``, ``"npz"`` or ``"idx"``; by default inferred from the
        file name.
    **options
        Options of the format: `max_bytes` for all; for tables `label_separator`, if
        one column has all labels of a row, and `raw`, for an `X` that is a `Table`
        even if all columns are numbers; for libsvm `n_features`, `n_labels` and
        `zero_based`.

    Raises
    ------
    ValueError
        If the file is damaged; the message gives the file and the line.

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
    labels = _parse_labels(labels)
    if kind in TABLES:
        return table.read(path, kind, _label_columns(path, labels), **options)
    match kind:
        case "arff":
            return arff.read(path, labels, **options)
        case "libsvm":
            return libsvm.read(path, _label_names(path, labels), **options)
        case "npz":
            return npz.read(path, **options)
        case "idx":
            return idx.read(path, _class_file(labels), **options)
    known = ", ".join(f"`{name}`" for name in FORMATS)
    near = _ENDINGS.get(f".{kind}")
    hint = f" A .{kind} file is `{near}`." if near else ""
    raise ValueError(f"Unknown format `{kind}`; use one of {known}.{hint}")


def write(path: Path | str, data: Dataset, format: str | None = None) -> None:
    """Write a data set to a file.

    Parameters
    ----------
    path
        The file to write.
    data
        The data set.
    format
        ``"arff"``, ``"libsvm"``, ``"csv"``, ``"parquet"`` or ``"npz"``; by default
        inferred from the file name.

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
        raise ValueError(f"Cannot write format `{kind}`; use one of {known}.")
    writers[kind](path, data)


def format_of(path: Path) -> str:
    """The format of a file, inferred from its name."""
    name = path.name.lower().removesuffix(".gz")
    if _MNIST_NAME.search(name):
        return "idx"
    kind = _ENDINGS.get(Path(name).suffix)
    if kind is None:
        known = ", ".join(_ENDINGS)
        raise ValueError(
            f"`{path}`: the file name does not tell the format (known endings: "
            f"{known}). Rename it, or name the format, as in `--format csv`."
        )
    return kind


def _parse_labels(labels: Any) -> Any:
    """A single string as a path if it is a file name, otherwise as one label."""
    if isinstance(labels, str):
        is_file = labels.endswith(".xml") or _MNIST_NAME.search(
            labels.removesuffix(".gz")
        )
        return Path(labels) if is_file else (labels,)
    return labels


def _label_names(path: Path, labels: Any) -> Any:
    if isinstance(labels, int | Path):
        raise ValueError(
            f"`{path}` is a libsvm file: `labels` must be names for its label ids. "
            "To give their number, pass `n_labels`."
        )
    return labels


def _label_columns(path: Path, labels: Any) -> Any:
    if labels is None:
        raise ValueError(
            f"`{path}` is a table: pass `labels`, the names of its label columns "
            "(or `()` if it has none)."
        )
    if isinstance(labels, Path):
        raise ValueError(
            f"`{path}` is a table: `labels` must be names of its columns, not a file."
        )
    return labels


def _class_file(labels: Any) -> Path | None:
    if not labels:
        return None
    if isinstance(labels, Path):
        return labels
    raise ValueError(
        "For IDX images `labels` must be the path of the IDX file of class numbers."
    )
