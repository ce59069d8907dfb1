"""Find the label columns and check the values, for all table formats."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from crbm import checks
from crbm.datasets.dataset import Array, Matrix
from crbm.datasets.formats._common import file_error

Labels = Sequence[str] | int
_LINE_END = re.compile(r"\r\n|\r|\n")
_MAX_DENSE_CELLS = 2**26  # 64 MiB; larger outputs become CSR


def label_columns(path: Path, names: Sequence[str], labels: Labels) -> list[int]:
    """Column numbers of the labels.

    Parameters
    ----------
    path
        The file, for error messages.
    names
        Names of all columns.
    labels
        Names of the labels, whose order is preserved; or their number as in MEKA: n
        for the first n columns, -n for the last n.

    Examples
    --------
    >>> label_columns(Path("a.csv"), ["x", "y", "cat", "dog"], -2)
    [2, 3]
    >>> label_columns(Path("a.csv"), ["x", "y", "cat", "dog"], ["dog", "cat"])
    [3, 2]
    """
    check_unique(path, names, "column")
    if isinstance(labels, int):
        return _first_or_last(path, len(names), labels)
    check_unique(path, labels, "label")
    columns = {name: column for column, name in enumerate(names)}
    for name in labels:
        if name not in columns:
            raise file_error(path, _unknown_label(name, names))
    return [columns[name] for name in labels]


def _first_or_last(path: Path, n_columns: int, count: int) -> list[int]:
    if abs(count) > n_columns:
        problem = f"{abs(count)} labels requested; there are {n_columns} columns."
        raise file_error(path, problem)
    columns = list(range(n_columns))
    return columns[:count] if count >= 0 else columns[count:]


def check_unique(path: Path, names: Sequence[str], what: str) -> None:
    """Refuse names that appear twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise file_error(path, f"{what} name `{name}` appears twice. Rename one.")
        seen.add(name)


def _unknown_label(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names[:10_000], n=1)
    listed = ", ".join(f"`{known}`" for known in names[:3])
    hint = f"Did you mean `{near[0]}`?" if near else f"The first are {listed}."
    return f"label `{name}` is not a column of the file ({len(names)} columns). {hint}"


def inputs(path: Path, values: Array, line: Callable[[int], int]) -> Array:
    """The values as float32.

    Raises an error with the line number of the first value that is not finite;
    `line` turns a row number into a line number.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        single = np.asarray(values, dtype=np.float32)
    bad = ~np.isfinite(single)
    if bad.any():
        first = np.argwhere(bad)[0]
        raise file_error(
            path, _not_finite(float(values[tuple(first)])), line=line(int(first[0]))
        )
    return single


def _not_finite(value: float) -> str:
    if np.isnan(value):
        return "a value is NaN or missing. Impute or drop it."
    return f"{value} does not fit a 32-bit float. Rescale or drop it."


def outputs(path: Path, values: Array, line: Callable[[int], int]) -> Array:
    """The values as uint8.

    Raises an error with the line number of the first value that is not 0 or 1.
    """
    first = checks.first_not_binary(values)
    if first is not None:
        raise file_error(path, not_binary(values[first]), line=line(first[0]))
    return np.asarray(values, dtype=np.uint8)


def not_binary(value: object) -> str:
    """The error message for a label with this value."""
    return f"a label must be 0 or 1, not {value}. Binarise it."


def dense_if_small(labels: csr_array) -> Matrix:
    """Labels as a dense array if that takes at most 64 MiB."""
    small = labels.shape[0] * labels.shape[1] <= _MAX_DENSE_CELLS
    return labels.toarray() if small else labels


def nth_line(text: str, count: int, comment: str = "\0") -> int:
    """Line number (from 1) of the `count`-th (from 0) line that is not empty."""
    for number, content in enumerate(_LINE_END.split(text), start=1):
        stripped = content.strip()
        if stripped and not stripped.startswith(comment):
            if count == 0:
                return number
            count -= 1
    return number
