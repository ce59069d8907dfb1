"""Neighbouring rows of sequences side by side: past frames, letters of a word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np


class Windows(NamedTuple):
    """Rows of windows, and the row of the sequence that each belongs to."""

    values: np.ndarray
    rows: np.ndarray


def windows(
    X: Any,
    offsets: Iterable[int],
    *,
    groups: Any = None,
    fill: float | None = None,
) -> Windows:
    """The rows at some offsets from each row, side by side.

    Parameters
    ----------
    X
        Rows of one or more sequences, in order: (rows, columns).
    offsets
        Which rows to take: `range(-3, 0)` are the three before a row, the oldest
        first, and `range(-1, 2)` the row itself between its neighbours.
    groups
        The sequence of each row. Windows do not reach into another one.
    fill
        What stands for rows beyond the ends of a sequence. None leaves out the rows
        whose windows are not complete.

    Examples
    --------
    Two past frames as inputs, the frame after them as outputs:

    >>> frames = np.array([[1.0], [2.0], [4.0], [8.0]])
    >>> past = windows(frames, range(-2, 0))
    >>> past.values, frames[past.rows]
    (array([[1., 2.],
           [2., 4.]]), array([[4.],
           [8.]]))
    >>> windows(frames, (-1, 0, 1), groups=[0, 0, 1, 1], fill=0.0).values
    array([[0., 1., 2.],
           [1., 2., 0.],
           [0., 4., 8.],
           [4., 8., 0.]])
    """
    X, steps = np.asarray(X), list(offsets)
    if X.ndim != 2:
        raise ValueError(f"`X` must be rows of numbers; got shape {X.shape}.")
    if not steps:
        raise ValueError("`offsets` must name at least one row, e.g. range(-3, 0).")
    groups = np.zeros(len(X)) if groups is None else np.asarray(groups)
    if len(groups) != len(X):
        raise ValueError(f"`groups` has {len(groups)} entries; `X` has {len(X)} rows.")
    places = np.arange(len(X))[:, None] + steps
    inside = (places >= 0) & (places < len(X))
    places = np.where(inside, places, 0)
    inside &= groups[places] == groups[:, None]
    taken = X[places]
    if fill is None:
        rows = np.flatnonzero(inside.all(1))
        return Windows(taken[rows].reshape(len(rows), -1), rows)
    taken = np.where(inside[..., None], taken, np.asarray(fill, dtype=X.dtype))
    return Windows(taken.reshape(len(X), -1), np.arange(len(X)))
