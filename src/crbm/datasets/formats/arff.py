"""ARFF, dense and sparse, with Mulan's or MEKA's way of naming the labels.

liac-arff does the parsing: it is fast enough (bibtex in under a second) and knows
its line numbers. Two things are done here because it lacks them: it recognises
nominal declarations with a regular expression that takes exponential time on a
crafted line, so those are checked first; and it lets a sparse row repeat an index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from crbm.datasets.dataset import Array, Dataset
from crbm.datasets.formats import mulan_xml
from crbm.datasets.formats._columns import (
    Labels,
    dense_if_small,
    inputs,
    label_columns,
    nth_line,
    outputs,
)
from crbm.datasets.formats._common import (
    MAX_BYTES,
    damage,
    file_name,
    read_text,
    require,
)

_Attributes: TypeAlias = Sequence[tuple[str, str | list[Any]]]
_DATA = re.compile(r"^[ \t]*@data\b.*$", re.IGNORECASE | re.MULTILINE)
_MEKA = re.compile(r"-C\s+(-?\d{1,9})\b")
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NAMED = re.compile(rf"\s*@\w+\s+(?:{_QUOTED}|[^\s'\"]+)\s+(\S.*)")
_VALUE = re.compile(r"\s*(?:'[^']*'|\"[^\"]*\"|[^\s'\"]+)\s*")


def read(
    path: Path | str,
    labels: Labels | Path | None = None,
    *,
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    """The rows of an ARFF file; sparse rows give a CSR `X`.

    Parameters
    ----------
    path
        The file, plain or gzip.
    labels
        Names of the label attributes; or their number as in MEKA (first n, last
        n if negative); or Mulan's XML file. Left out, it is the XML file of the
        same name beside `path`, else the ``-C n`` in the relation's name.
    max_bytes
        The largest text to accept after unpacking.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pets.arff"
    >>> _ = file.write_text('''@relation 'pets: -C 1'
    ... @attribute dog {0,1}
    ... @attribute weight numeric
    ... @data
    ... 1,30.5
    ... 0,4
    ... ''')
    >>> data = read(file)
    >>> data.label_names, data.X.tolist(), data.Y.tolist()
    (('dog',), [[30.5], [4.0]], [[1], [0]])
    """
    path = Path(path)
    text = read_text(path, max_bytes)
    start = _check_header(path, text)
    sparse = text[start:].lstrip().startswith("{")
    content = _parse(path, text, sparse)
    names = [_unescaped(name) for name, _ in content["attributes"]]
    columns = _labels(path, names, labels, content["relation"])
    _check_types(path, content["attributes"], columns, sparse)
    build = _from_sparse if sparse else _from_dense
    return build(path, text, content["data"], names, columns)


def _check_header(path: Path, text: str) -> int:
    """Where the rows begin; nominal declarations before it are well formed."""
    data = _DATA.search(text)
    if data is None:
        raise damage(path, "no `@data` line; is the file cut short?")
    header = text[: data.start()].split("\n")
    for line, content in enumerate(header, start=1):
        declares = content.lstrip()[:10].lower() == "@attribute"
        if declares and "{" in content and not _is_sound(content):
            problem = "a nominal attribute must be declared as {0,1}."
            raise damage(path, problem, line=line)
    return data.end()


def _is_sound(declaration: str) -> bool:
    """Whether the declaration is a name, then a type or a list of plain values."""
    parts = _NAMED.match(declaration)
    if parts is None or parts[1][0] != "{":
        return parts is not None
    values = parts[1].rstrip()[1:].removesuffix("}").split(",")
    return all(_VALUE.fullmatch(value) for value in values)


def _parse(path: Path, text: str, sparse: bool) -> dict[str, Any]:
    arff = require("arff", "liac-arff", "Reading ARFF")
    kind = arff.LOD if sparse else arff.DENSE
    lines = text.split("\n")  # a list keeps the numbering; a string is stripped first
    tidied = map(_tidy, lines)
    try:
        content: dict[str, Any] = arff.ArffDecoder().decode(tidied, return_type=kind)
    except arff.ArffException as error:
        raise damage(path, _explain(error), line=error.line) from error
    except (ValueError, IndexError, OverflowError, StopIteration) as error:
        raise damage(path, f"not an ARFF file ({error}).") from error
    if not content["data"]:
        raise damage(path, "no rows after `@data`.", line=len(lines))
    return content


def _tidy(line: str) -> str:
    """A declaration as liac-arff wants it: no tabs, and `integer` not truncated."""
    if line.lstrip()[:1] != "@":
        return line
    return re.sub(r"\sinteger\s*$", " numeric", line.replace("\t", " "), flags=re.I)


def _unescaped(name: str) -> str:
    """Weka writes a quote inside a name as \\'; Mulan's XML repeats it so."""
    return re.sub(r"\\(['\"\\%])", r"\1", name)


def _explain(error: Exception) -> str:
    """liac-arff's sentence without its line number, and without the whole row."""
    kind = type(error).__name__
    if kind == "BadDataFormat":
        return "the row does not fit the attributes declared (ragged or unknown)."
    return f"{re.sub(r',? (at|in) line -?[0-9]+', '', str(error))[:200]} ({kind})"


def _labels(
    path: Path, names: list[str], labels: Labels | Path | None, relation: str
) -> list[int]:
    if labels is None:
        beside = path.with_name(f"{file_name(path)}.xml")
        meka = _MEKA.search(relation)
        labels = beside if beside.exists() else int(meka[1]) if meka else None
    if labels is None:
        raise damage(
            path,
            "no labels are named. Pass `labels`, put Mulan's XML file of the same "
            "name beside it, or write `-C n` in the relation's name as MEKA does.",
        )
    if isinstance(labels, Path):
        # Mulan takes labels in the order of the ARFF file, whatever the XML's.
        listed = [_unescaped(name) for name in mulan_xml.read(labels)]
        return sorted(label_columns(path, names, listed))
    return label_columns(path, names, labels)


def _check_types(
    path: Path, attributes: _Attributes, columns: list[int], sparse: bool
) -> None:
    """Every attribute is numeric or nominal over numbers; omitted values are 0."""
    for place, (name, kind) in enumerate(attributes):
        if kind == "STRING":
            raise damage(path, f"attribute `{name}` is text. Encode it as numbers.")
        if not isinstance(kind, list):
            continue
        numbers = [_number(path, name, value) for value in kind]
        if place in columns and not set(numbers) <= {0.0, 1.0}:
            raise damage(path, f"label `{name}` must be {{0,1}}, not {kind[:5]}.")
        if sparse and numbers[0] != 0:
            raise damage(
                path,
                f"attribute `{name}` leaves out `{kind[0]}` in sparse rows, not 0. "
                "Declare 0 first.",
            )


def _number(path: Path, name: str, value: str | None) -> float:
    try:
        return float(value or "?")
    except ValueError as error:
        problem = f"attribute `{name}` has the value `{value}`. Encode it as numbers."
        raise damage(path, problem) from error


def _from_dense(
    path: Path, text: str, rows: list[Any], names: list[str], columns: list[int]
) -> Dataset:
    values = np.array(rows, dtype=np.float64)  # None, for `?`, becomes NaN
    others = _others(names, columns)

    def line(row: int) -> int:
        return _line(text, row)

    return Dataset(
        X=inputs(path, values[:, others], line),
        Y=outputs(path, values[:, columns], line),
        name=file_name(path),
        feature_names=tuple(names[place] for place in others),
        label_names=tuple(names[place] for place in columns),
    )


def _from_sparse(
    path: Path, text: str, rows: list[Any], names: list[str], columns: list[int]
) -> Dataset:
    matrix = _csr(path, text, rows, len(names))
    of_entry = np.repeat(np.arange(len(rows)), np.diff(matrix.indptr))

    def line(entry: int) -> int:
        return _line(text, int(of_entry[entry]))

    is_label = np.isin(matrix.indices, columns)
    inputs(path, matrix.data, line)
    outputs(path, np.where(is_label, matrix.data, 0), line)
    others = _others(names, columns)
    X = matrix[:, others].astype(np.float32)
    X.eliminate_zeros()
    return Dataset(
        X=X,
        Y=dense_if_small(matrix[:, columns].astype(np.uint8)),
        name=file_name(path),
        feature_names=tuple(names[place] for place in others),
        label_names=tuple(names[place] for place in columns),
    )


def _csr(path: Path, text: str, rows: list[Any], n_columns: int) -> csr_array:
    counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    _check_repeats(path, text, counts)
    indices = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
    stored = chain.from_iterable(row.values() for row in rows)
    values = np.fromiter(_floats(stored), dtype=np.float64)
    starts = np.concatenate([[0], np.cumsum(counts)])
    matrix = csr_array((values, indices, starts), shape=(len(rows), n_columns))
    matrix.sort_indices()
    return matrix


def _floats(values: Iterable[Any]) -> Iterable[float]:
    return (np.nan if value is None else float(value) for value in values)


def _check_repeats(path: Path, text: str, counts: Array) -> None:
    """A row `{i v, j w}` has one comma fewer than it has entries."""
    data = _DATA.search(text)
    body = text[data.end() :] if data else ""
    if "%" not in body and body.count(",") == (counts - (counts > 0)).sum():
        return
    rows = [row for row in map(str.strip, body.split("\n")) if row and row[0] != "%"]
    for place, (row, count) in enumerate(zip(rows, counts, strict=True)):
        if row.count(",") != max(count - 1, 0):
            problem = "the row names an attribute twice."
            raise damage(path, problem, line=_line(text, place))


def _others(names: list[str], columns: list[int]) -> list[int]:
    chosen = set(columns)
    return [place for place in range(len(names)) if place not in chosen]


def _line(text: str, row: int) -> int:
    """Line number of the row; the rows begin after `@data`."""
    data = _DATA.search(text)
    end = data.end() if data else 0
    return text.count("\n", 0, end) + nth_line(text[end:], row, comment="%")
