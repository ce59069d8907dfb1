"""Write ARFF files, with the number of labels as MEKA's `-C n`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from scipy.sparse import csr_array, issparse

from crbm.datasets.dataset import Array, Dataset
from crbm.datasets.formats import mulan_xml
from crbm.datasets.formats._common import file_error

# ARFF readers disagree on how these characters are escaped.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]|^[\s'\"\\]|[\s'\"\\]$|^$")


def write(path: Path | str, data: Dataset, *, xml: bool = False) -> None:
    """Write features, then labels; sparse rows if `X` is sparse.

    Parameters
    ----------
    path
        The file to write.
    data
        The data set; its feature and label names become attribute names.
    xml
        Also write Mulan's list of labels to `path` with the ending ``.xml``.
    """
    path = Path(path)
    rows = _sparse_rows(data) if issparse(data.X) else _dense_rows(data)
    lines = [*_header(path, data), *rows, ""]
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")
    if xml:
        mulan_xml.write(path.with_suffix(".xml"), data.label_names)


def _header(path: Path, data: Dataset) -> Iterable[str]:
    name = re.sub(r"[^\w.-]", "_", data.name or "data")
    yield f"@relation '{name}: -C -{len(data.label_names)}'"
    yield ""
    kinds = ["numeric"] * len(data.feature_names) + ["{0,1}"] * len(data.label_names)
    names = (*data.feature_names, *data.label_names)
    for attribute, kind in zip(names, kinds, strict=True):
        if _UNSAFE.search(attribute):
            problem = (
                f"the name {attribute!r} cannot be written safely in ARFF. Rename it."
            )
            raise file_error(path, problem)
        escaped = re.sub(r"(['\\])", r"\\\1", attribute)
        yield f"@attribute '{escaped}' {kind}"
    yield ""
    yield "@data"


def _dense_rows(data: Dataset) -> Iterable[str]:
    labels = data.Y.toarray() if issparse(data.Y) else data.Y
    for x, y in zip(data.X, labels, strict=True):
        yield ",".join((*_values(x), *_values(y)))


def _sparse_rows(data: Dataset) -> Iterable[str]:
    X, Y = csr_array(data.X), csr_array(data.Y)
    offset = len(data.feature_names)
    for row in range(len(data)):
        entries = (*_entries(X, row, 0), *_entries(Y, row, offset))
        yield "{" + ",".join(entries) + "}"


def _entries(matrix: csr_array, row: int, offset: int) -> list[str]:
    """The `index value` pairs of a row, sorted by index as Weka requires."""
    span = slice(matrix.indptr[row], matrix.indptr[row + 1])
    pairs = zip(matrix.indices[span], _values(matrix.data[span]), strict=True)
    return [f"{index + offset} {value}" for index, value in sorted(pairs)]


def _values(values: Array) -> list[str]:
    """Each number as the shortest text that reads back as the same number."""
    return [str(value) for value in values]
