"""Labels given as sets of names, or as columns of yes and no."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from crbm.preprocessing import Table
from crbm.preprocessing.conversion import to_labels
from crbm.preprocessing.table import is_frame

COLLECTIONS = (set, frozenset, list, tuple, np.ndarray)


def is_sets(Y: Any) -> bool:
    """Whether Y holds a set or a list of label names per case; None where unknown.

    Examples
    --------
    >>> is_sets([set(), {"cat"}]), is_sets([[], ["cat", "dog"]])
    (True, True)
    >>> is_sets([[0, 1], [1, 0]]), is_sets(["cat", "dog"])
    (False, False)
    """
    if sparse.issparse(Y) or isinstance(Y, Table) or is_frame(Y):
        return False
    if not isinstance(Y, Iterable):
        return False
    if isinstance(Y, np.ndarray) and (Y.ndim != 1 or Y.dtype != object):
        return False
    filled = (item for item in Y if not _is_unknown(item) and not _is_empty(item))
    first = next(filled, None)
    if isinstance(first, set | frozenset):
        return True
    return isinstance(first, COLLECTIONS) and isinstance(next(iter(first)), str)


def from_sets(
    Y: Any, names: Sequence[str] | None = None
) -> tuple[np.ndarray, list[str]]:
    """The indicator matrix of sets of names, NaN where unknown, and the names.

    Examples
    --------
    >>> from_sets([{"dog"}, {"cat", "dog"}, None])
    (array([[ 0.,  1.],
           [ 1.,  1.],
           [nan, nan]], dtype=float32), ['cat', 'dog'])
    """
    sets = [None if _is_unknown(item) else _members(item) for item in Y]
    found = sorted({name for item in sets if item is not None for name in item})
    names = found if names is None else list(names)
    unknown = set(found) - set(names)
    if unknown:
        raise ValueError(f"`Y` holds the label `{min(unknown)}`, which is not known.")
    places = {name: place for place, name in enumerate(names)}
    matrix = np.zeros((len(sets), len(names)), dtype=np.float32)
    for row, item in enumerate(sets):
        if item is None:
            matrix[row] = np.nan
        else:
            matrix[row, [places[name] for name in item]] = 1
    return matrix, names


def from_table(Y: Any) -> tuple[np.ndarray, list[str]]:
    """The columns of a frame as 0 and 1, NaN where unknown, and their names."""
    table = to_table(Y)
    columns = [to_labels(table, name) for name in table.columns]
    return np.column_stack(columns).astype(np.float32), table.names


def to_table(Y: Any) -> Table:
    """A frame as a table."""
    return Y if isinstance(Y, Table) else Table.from_frame(Y)


def as_lists(Y: Any) -> Any:
    """A series of lists of polars or pyarrow as lists; anything else unchanged."""
    series = nw.from_native(Y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and isinstance(series.dtype, nw.List):
        return series.to_list()
    return Y


def _members(item: Any) -> set[str]:
    return {str(name) for name in item if not _is_unknown(name)}


def _is_unknown(item: Any) -> bool:
    return item is None or (isinstance(item, float) and item != item)


def _is_empty(item: Any) -> bool:
    return isinstance(item, list | tuple | np.ndarray) and len(item) == 0
