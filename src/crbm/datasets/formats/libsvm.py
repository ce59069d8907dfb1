"""Read and write multi-label libsvm text, ``l1,l2,... i:v i:v ...``.

scikit-learn's reader is not used: it drops rows without labels and features, and its
errors have no line numbers. Label ids start at 0, feature indices at 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from crbm.datasets.dataset import Array, Dataset, Matrix
from crbm.datasets.formats._columns import dense_if_small
from crbm.datasets.formats._common import (
    MAX_INFERRED,
    file_error,
    file_name,
    read_text,
)

_LABELS = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18})*")
_FEATURES = re.compile(r"(?:\s+[0-9]{1,15}:[^\s:]+)*\s*")


class _Row(NamedTuple):
    labels: list[int]
    indices: Array
    values: Array


def read(
    path: Path | str,
    labels: Sequence[str] | None = None,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool = False,
    max_bytes: int | None = None,
) -> Dataset:
    """Read a multi-label libsvm file; `X` is CSR.

    Empty lines are skipped. A line with a single space is a row without labels and
    features.

    Parameters
    ----------
    path
        The file, plain or gzip.
    labels
        Names for the label ids, starting with id 0.
    n_features, n_labels
        Sizes, needed if no row has the last feature or label.
    zero_based
        Whether feature indices start at 0 instead of 1.
    max_bytes
        Limit on the uncompressed size.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "songs.libsvm"
    >>> _ = file.write_text("0,2 1:0.5 3:-1\\n 2:4\\n")
    >>> data = read(file)
    >>> data.X.toarray().tolist(), data.Y.tolist()
    ([[0.5, 0.0, -1.0], [0.0, 4.0, 0.0]], [[1, 0, 1], [0, 0, 0]])
    """
    path = Path(path)
    n_labels = len(labels) if labels else n_labels
    limits = n_features or MAX_INFERRED, n_labels or MAX_INFERRED
    base = 0 if zero_based else 1
    text = read_text(path, max_bytes)
    rows = [
        _row(path, line, content, base, limits)
        for line, content in enumerate(text.split("\n"), start=1)
        if content.rstrip("\r")
    ]
    if not rows:
        raise file_error(path, "no rows.")
    return Dataset(
        X=_inputs(rows, n_features),
        Y=_outputs(rows, n_labels),
        name=file_name(path),
        label_names=tuple(labels or ()),
    )


def _row(
    path: Path, line: int, content: str, base: int, limits: tuple[int, int]
) -> _Row:
    content = content.split("#", 1)[0]
    head = content.split(maxsplit=1)[0] if content.strip() else ""
    if not content[:1].strip() or ":" in head:
        head = ""
    tail = f" {content.removeprefix(head)}"
    if head and not _LABELS.fullmatch(head):
        problem = f"labels must be ids such as `0,3`, not `{head[:40]}`."
        raise file_error(path, problem, line=line)
    if not _FEATURES.fullmatch(tail):
        raise file_error(path, "features must be `index:value` pairs.", line=line)
    labels = _label_ids(path, line, head, limits[1])
    return _Row(labels, *_pairs(path, line, tail, base, limits[0]))


def _label_ids(path: Path, line: int, head: str, n_labels: int) -> list[int]:
    labels = [int(label) for label in head.split(",")] if head else []
    if len(set(labels)) < len(labels):
        raise file_error(path, f"a label appears twice in `{head[:40]}`.", line=line)
    if labels and max(labels) >= n_labels:
        problem = f"label {max(labels)} is out of range for {n_labels} labels. "
        raise file_error(path, problem + "Pass `n_labels` if it is right.", line=line)
    return labels


def _pairs(
    path: Path, line: int, tail: str, base: int, n_features: int
) -> tuple[Array, Array]:
    try:
        numbers = np.array(tail.replace(":", " ").split(), dtype=np.float64)
    except ValueError as error:
        raise file_error(path, f"{error}.", line=line) from error
    indices = numbers[::2].astype(np.int64) - base
    if (np.diff(indices) <= 0).any():
        raise file_error(
            path, "feature indices must increase along the row.", line=line
        )
    if len(indices) and not 0 <= indices[0] <= indices[-1] < n_features:
        problem = (
            f"feature indices must be in {base}..{n_features - 1 + base}. "
            "Pass `n_features` or `zero_based` if they are right."
        )
        raise file_error(path, problem, line=line)
    with np.errstate(over="ignore"):
        values = numbers[1::2].astype(np.float32)
    if not np.isfinite(values).all():
        raise file_error(path, "a value is NaN, infinite or too large.", line=line)
    return indices, values


def _inputs(rows: list[_Row], n_features: int | None) -> csr_array:
    indices = np.concatenate([row.indices for row in rows])
    values = np.concatenate([row.values for row in rows])
    starts = np.cumsum([0, *(len(row.indices) for row in rows)])
    width = n_features or int(indices.max(initial=-1)) + 1
    X = csr_array((values, indices, starts), shape=(len(rows), width))
    X.eliminate_zeros()
    return X


def _outputs(rows: list[_Row], n_labels: int | None) -> Matrix:
    indices = np.array([label for row in rows for label in row.labels], dtype=np.int64)
    starts = np.cumsum([0, *(len(row.labels) for row in rows)])
    width = n_labels or int(indices.max(initial=-1)) + 1
    ones = np.ones(len(indices), dtype=np.uint8)
    Y = csr_array((ones, indices, starts), shape=(len(rows), width))
    Y.sort_indices()
    return dense_if_small(Y)


def write(path: Path | str, data: Dataset, *, zero_based: bool = False) -> None:
    """Write the labels and the non-zero features of each case."""
    lines = "".join(f"{line}\n" for line in _lines(data, 0 if zero_based else 1))
    Path(path).write_text(lines, encoding="utf-8", newline="\n")


def _lines(data: Dataset, base: int) -> Iterable[str]:
    X, Y = csr_array(data.X), csr_array(data.Y)
    for matrix in (X, Y):
        matrix.sort_indices()
    for row in range(len(data)):
        labels = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        span = slice(X.indptr[row], X.indptr[row + 1])
        pairs = zip(X.indices[span] + base, X.data[span], strict=True)
        features = (f"{index}:{value!s}" for index, value in pairs)
        yield " ".join((",".join(map(str, labels)), *features)) or " "
