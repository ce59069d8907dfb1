"""Which columns are labels, and whether the values can be used."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from crbm.datasets.dataset import Array, Matrix
from crbm.datasets.formats._common import damage

Labels = Sequence[str] | int
_LINE_END = re.compile(r"\r\n|\r|\n")
_DENSE_CELLS = 2**26  # outputs up to 64 MiB are dense, larger ones CSR


def label_columns(path: Path, names: Sequence[str], labels: Labels) -> list[int]:
    """Column numbers of the labels.

    Parameters
    ----------
    path
        The file, for the error message.
    names
        All columns of the file.
    labels
        Names, kept in the order given; or a count in MEKA's way: the first n
        columns, or the last n if negative.

    Examples
    --------
    >>> label_columns(Path("a.csv"), ["x", "y", "cat", "dog"], -2)
    [2, 3]
    >>> label_columns(Path("a.csv"), ["x", "y", "cat", "dog"], ["dog", "cat"])
    [3, 2]
    """
    _refuse_twice(path, names, "column")
    if isinstance(labels, int):
        return _counted(path, len(names), labels)
    _refuse_twice(path, labels, "label")
    places = {name: place for place, name in enumerate(names)}
    for name in labels:
        if name not in places:
            raise damage(path, _unknown(name, names))
    return [places[name] for name in labels]


def _counted(path: Path, n_columns: int, count: int) -> list[int]:
    if abs(count) > n_columns:
        raise damage(path, f"{abs(count)} labels asked of {n_columns} columns.")
    columns = list(range(n_columns))
    return columns[:count] if count >= 0 else columns[count:]


def _refuse_twice(path: Path, names: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise damage(path, f"{what} name `{name}` comes twice; rename one.")
        seen.add(name)


def _unknown(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names[:10_000], n=1)
    hint = f" Did you mean `{near[0]}`?" if near else ""
    return f"label `{name}` is no column of the file ({len(names)} columns).{hint}"


def inputs(path: Path, values: Array, line: Callable[[int], int]) -> Array:
    """The values as float32; the first NaN or infinity is refused with its line."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = np.asarray(values, dtype=np.float32)
    bad = ~np.isfinite(single)
    if bad.any():
        place = np.argwhere(bad)[0]
        raise damage(
            path, _not_finite(float(values[tuple(place)])), line=line(int(place[0]))
        )
    return single


def _not_finite(value: float) -> str:
    if np.isnan(value):
        return "a value is NaN or missing. Impute or drop it."
    return f"{value} does not fit a 32-bit float. Rescale or drop it."


def outputs(path: Path, values: Array, line: Callable[[int], int]) -> Array:
    """The values as uint8; the first that is not 0 or 1 is refused with its line."""
    bad = (values != 0) & (values != 1)
    if bad.any():
        place = np.argwhere(bad)[0]
        found = values[tuple(place)]
        raise damage(path, not_binary(found), line=line(int(place[0])))
    return np.asarray(values, dtype=np.uint8)


def not_binary(value: object) -> str:
    """The problem with a label of this value."""
    return f"a label must be 0 or 1, not {value}. Binarise it."


def dense_if_small(labels: csr_array) -> Matrix:
    """Labels as a dense array where that is at most 64 MiB."""
    small = labels.shape[0] * labels.shape[1] <= _DENSE_CELLS
    return labels.toarray() if small else labels


def nth_line(text: str, count: int, comment: str = "\0") -> int:
    """Line number, from 1, of the `count`-th line (from 0) that holds anything."""
    for number, content in enumerate(_LINE_END.split(text), start=1):
        stripped = content.strip()
        if stripped and not stripped.startswith(comment):
            if count == 0:
                return number
            count -= 1
    return number
