"""Read ARFF files, dense and sparse, with labels marked as by Mulan or MEKA.

liac-arff does the parsing: it is fast enough (bibtex in under a second) and reports
line numbers. Two checks are added here. Its regular expression for nominal
declarations takes exponential time on a crafted line, so they are checked first. And
it accepts sparse rows that repeat an index.
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
    file_error,
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
    max_bytes: int | None = None,
) -> Dataset:
    """Read an ARFF file; sparse rows give a CSR `X`.

    Parameters
    ----------
    path
        The file, plain or gzip.
    labels
        Names of the label attributes; or their number as in MEKA (n for the first n,
        -n for the last n); or the path of Mulan's XML file. By default the XML file
        of the same name, if there is one, otherwise ``-C n`` in the relation name.
    max_bytes
        Limit on the uncompressed size.

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
    names = [_unescape(name) for name, _ in content["attributes"]]
    columns = _find_labels(path, names, labels, content["relation"])
    _check_types(path, content["attributes"], columns, sparse)
    build = _from_sparse if sparse else _from_dense
    return build(path, text, content["data"], names, columns)


def _check_header(path: Path, text: str) -> int:
    """Check the nominal declarations; returns the position where the rows begin."""
    data = _DATA.search(text)
    if data is None:
        raise file_error(path, "no `@data` line. Is the file truncated?")
    header = text[: data.start()].split("\n")
    for line, content in enumerate(header, start=1):
        declares = content.lstrip()[:10].lower() == "@attribute"
        if declares and "{" in content and not _is_well_formed(content):
            problem = "a nominal attribute must be declared as {0,1}."
            raise file_error(path, problem, line=line)
    return data.end()


def _is_well_formed(declaration: str) -> bool:
    """Whether the declaration is a name followed by a type or a list of values."""
    parts = _NAMED.match(declaration)
    if parts is None or parts[1][0] != "{":
        return parts is not None
    values = parts[1].rstrip()[1:].removesuffix("}").split(",")
    return all(_VALUE.fullmatch(value) for value in values)


def _parse(path: Path, text: str, sparse: bool) -> dict[str, Any]:
    arff = require("arff", "liac-arff", "Reading ARFF")
    kind = arff.LOD if sparse else arff.DENSE
    lines = text.split("\n")  # liac-arff would strip a string and shift line numbers
    normalised = map(_normalise, lines)
    try:
        decoder = arff.ArffDecoder()
        content: dict[str, Any] = decoder.decode(normalised, return_type=kind)
    except arff.ArffException as error:
        raise file_error(path, _explain(error), line=error.line) from error
    except (ValueError, IndexError, OverflowError, StopIteration) as error:
        raise file_error(path, f"not an ARFF file ({error}).") from error
    if not content["data"]:
        raise file_error(path, "no rows after `@data`.", line=len(lines))
    return content


def _normalise(line: str) -> str:
    """Replace tabs in a declaration, and `integer`, which would truncate values."""
    if line.lstrip()[:1] != "@":
        return line
    return re.sub(r"\sinteger\s*$", " numeric", line.replace("\t", " "), flags=re.I)


def _unescape(name: str) -> str:
    """Undo Weka's escapes, such as \\' for a quote; Mulan's XML has them too."""
    return re.sub(r"\\(['\"\\%])", r"\1", name)


def _explain(error: Exception) -> str:
    """liac-arff's message without the line number and without the whole row."""
    kind = type(error).__name__
    if kind == "BadDataFormat":
        return "the row does not match the declared attributes."
    return f"{re.sub(r',? (at|in) line -?[0-9]+', '', str(error))[:200]} ({kind})"


def _find_labels(
    path: Path, names: list[str], labels: Labels | Path | None, relation: str
) -> list[int]:
    if labels is None:
        xml = path.with_name(f"{file_name(path)}.xml")
        meka = _MEKA.search(relation)
        labels = xml if xml.exists() else int(meka[1]) if meka else None
    if labels is None:
        raise file_error(
            path,
            "the file does not say which attributes are labels. Pass `labels`, put "
            "Mulan's XML file of the same name next to it, or write `-C n` in the "
            "relation name as MEKA does.",
        )
    if isinstance(labels, Path):
        # Mulan orders labels as the ARFF file does, not as the XML file does.
        listed = [_unescape(name) for name in mulan_xml.read(labels)]
        return sorted(label_columns(path, names, listed))
    return label_columns(path, names, labels)


def _check_types(
    path: Path, attributes: _Attributes, columns: list[int], sparse: bool
) -> None:
    """Check that attributes are numbers and that sparse rows omit only zeros."""
    for column, (name, kind) in enumerate(attributes):
        if kind == "STRING":
            raise file_error(path, f"attribute `{name}` is text. Encode it as numbers.")
        if not isinstance(kind, list):
            continue
        numbers = [_number(path, name, value) for value in kind]
        if column in columns and not set(numbers) <= {0.0, 1.0}:
            raise file_error(path, f"label `{name}` must be {{0,1}}, not {kind[:5]}.")
        if sparse and numbers[0] != 0:
            raise file_error(
                path,
                f"attribute `{name}` omits `{kind[0]}`, not 0, in sparse rows. "
                "Declare 0 as its first value.",
            )


def _number(path: Path, name: str, value: str | None) -> float:
    try:
        return float(value or "?")
    except ValueError as error:
        problem = f"attribute `{name}` has the value `{value}`. Encode it as numbers."
        raise file_error(path, problem) from error


def _from_dense(
    path: Path, text: str, rows: list[Any], names: list[str], columns: list[int]
) -> Dataset:
    values = np.array(rows, dtype=np.float64)  # `?` is parsed to None, here NaN
    others = _others(names, columns)

    def line(row: int) -> int:
        return _line(text, row)

    return Dataset(
        X=inputs(path, values[:, others], line),
        Y=outputs(path, values[:, columns], line),
        name=file_name(path),
        feature_names=tuple(names[column] for column in others),
        label_names=tuple(names[column] for column in columns),
    )


def _from_sparse(
    path: Path, text: str, rows: list[Any], names: list[str], columns: list[int]
) -> Dataset:
    matrix = _csr(path, text, rows, len(names))
    row_of_entry = np.repeat(np.arange(len(rows)), np.diff(matrix.indptr))

    def line(entry: int) -> int:
        return _line(text, int(row_of_entry[entry]))

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
        feature_names=tuple(names[column] for column in others),
        label_names=tuple(names[column] for column in columns),
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
    """Check that no row repeats an index.

    liac-arff merges repeats, so such a row has more commas than entries minus one.
    """
    data = _DATA.search(text)
    body = text[data.end() :] if data else ""
    if "%" not in body and body.count(",") == (counts - (counts > 0)).sum():
        return
    rows = [row for row in map(str.strip, body.split("\n")) if row and row[0] != "%"]
    for number, (row, count) in enumerate(zip(rows, counts, strict=True)):
        if row.count(",") != max(count - 1, 0):
            problem = "the row has an attribute twice."
            raise file_error(path, problem, line=_line(text, number))


def _others(names: list[str], columns: list[int]) -> list[int]:
    labels = set(columns)
    return [column for column in range(len(names)) if column not in labels]


def _line(text: str, row: int) -> int:
    """Line number of a row; rows are counted from `@data`."""
    data = _DATA.search(text)
    end = data.end() if data else 0
    return text.count("\n", 0, end) + nth_line(text[end:], row, comment="%")
