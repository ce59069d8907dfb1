"""Columns of classes as groups of numbers, one number per class, and back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from crbm.preprocessing.conversion import WrongValueError, to_classes, to_labels
from crbm.preprocessing.table import Table, to_column
from crbm.units import Categorical, Mixed, Units


class ClassColumns(NamedTuple):
    """The outputs of a multi-class classifier: the classes of each column.

    Inside, a case is one row of 0 and 1, a group of numbers per column with a single 1
    at its class; NaN throughout a group where the class is not known.

    Parameters
    ----------
    names
        The names of the columns.
    classes
        The distinct values of each column, sorted.

    Examples
    --------
    >>> columns = ClassColumns.learn(np.array([["cat", 1], ["dog", 2]], object))
    >>> columns.encode(np.array([["dog", None]], object))
    tensor([[0., 1., nan, nan]])
    >>> columns.decode(np.array([[0, 1, 1, 0]]))
    array([['dog', 1]], dtype=object)
    """

    names: list[str]
    classes: list[np.ndarray]

    @classmethod
    def learn(
        cls, values: np.ndarray, names: Sequence[str] | None = None
    ) -> ClassColumns:
        """The classes that occur in each column."""
        if names is None:
            names = [str(place) for place in range(values.shape[1])]
        classes = [distinct_values(column) for column in values.T]
        for name, own in zip(names, classes, strict=True):
            if len(own) < 2:
                raise ValueError(
                    f"Column {name} of `Y` needs two classes or more; it has only one "
                    f"class: {own.tolist()[0] if len(own) else None!r}. Leave it out."
                )
        return cls(list(names), classes)

    @classmethod
    def from_table(cls, table: Table) -> tuple[ClassColumns, np.ndarray]:
        """The classes of each column of a table, and the values themselves."""
        values = _read(table, table.names)
        return cls.learn(values, table.names), values

    def encode_table(self, table: Table) -> Float[Tensor, "cases numbers"]:
        """The columns of these names as groups of 0 and 1; others are ignored.

        A column that the table lacks is not known in any row.
        """
        return self.encode(_read(table, self.names))

    @property
    def sizes(self) -> list[int]:
        """The number of classes of each column."""
        return [len(own) for own in self.classes]

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """Where the numbers of each column begin and end."""
        return list(pairwise(np.cumsum([0, *self.sizes]).tolist()))

    @property
    def label_names(self) -> list[str]:
        """A name for each number: the class, after its column if there are several."""
        if len(self.names) == 1:
            return [str(value) for value in self.classes[0]]
        pairs = zip(self.names, self.classes, strict=True)
        return [f"{name}={value}" for name, own in pairs for value in own]

    @property
    def units(self) -> Units:
        """The kind of output units."""
        if len(set(self.sizes)) == 1:
            return Categorical(self.sizes[0])
        return Mixed(tuple((Categorical(size), size) for size in self.sizes))

    def describe(self) -> dict[str, Any]:
        """Names and classes as JSON."""
        return {"names": self.names, "classes": [own.tolist() for own in self.classes]}

    @classmethod
    def from_description(cls, described: dict[str, Any]) -> ClassColumns:
        """What `describe` gave."""
        names, classes = described["names"], described["classes"]
        if len(names) != len(classes) or not all(len(own) >= 2 for own in classes):
            raise ValueError("`columns_` must name columns of two classes or more")
        return cls([str(name) for name in names], [np.array(own) for own in classes])

    def rename(self, names: Sequence[str]) -> ClassColumns:
        """The same classes under other names of columns, or of all classes."""
        if list(names) == self.label_names:
            return self
        if len(names) != len(self.names):
            raise ValueError(
                f"`label_names` must name the {len(self.names)} columns; got "
                f"{len(names)} names."
            )
        return self._replace(names=list(names))

    def encode(self, values: np.ndarray) -> Float[Tensor, "cases numbers"]:
        """Classes as groups of 0 and 1; NaN where a class is missing."""
        parts = []
        for name, own, column in zip(self.names, self.classes, values.T, strict=True):
            missing = is_missing(column)
            hot = column[:, None] == own[None]
            strange = ~missing & ~hot.any(1)
            if strange.any():
                raise ValueError(
                    f"`Y` holds {column[strange].tolist()[0]!r} in column {name}, not "
                    f"among the classes {own.tolist()[:20]} seen before."
                )
            parts.append(np.where(missing[:, None], np.nan, hot))
        return torch.from_numpy(np.hstack(parts).astype(np.float32))

    def to_table(self, v: np.ndarray) -> Table:
        """The classes of encoded rows as a table, None where one is missing."""
        v = np.asarray(v, dtype=np.float64)
        columns = {}
        for name, own, (start, stop) in zip(
            self.names, self.classes, self.bounds, strict=True
        ):
            group = v[:, start:stop]
            values = own[np.nan_to_num(group).argmax(-1)].astype(object)
            values[np.isnan(group).any(-1)] = None
            columns[name] = to_column(name, values.tolist())
        return Table.from_columns(columns)

    def choose(self, p: np.ndarray) -> np.ndarray:
        """True at the likeliest class of each column."""
        chosen = np.zeros(p.shape, dtype=bool)
        for start, stop in self.bounds:
            best = p[..., start:stop].argmax(-1)[..., None]
            np.put_along_axis(chosen[..., start:stop], best, True, axis=-1)
        return chosen

    def decode(self, v: np.ndarray) -> np.ndarray:
        """The classes at the largest number of each group."""
        columns = [
            own[v[..., start:stop].argmax(-1)]
            for own, (start, stop) in zip(self.classes, self.bounds, strict=True)
        ]
        kinds = {column.dtype.kind for column in columns}
        if len(kinds) > 1:
            columns = [column.astype(object) for column in columns]
        return np.stack(columns, -1)

    def split(self, p: np.ndarray) -> list[np.ndarray]:
        """The probabilities of each column's classes."""
        return [p[..., start:stop] for start, stop in self.bounds]


def _read(table: Table, names: Sequence[str]) -> np.ndarray:
    """The classes in columns of a table; None where a value or column is missing."""
    values = np.full((len(table), len(names)), None, dtype=object)
    for place, name in enumerate(names):
        if name in table.columns:
            values[:, place] = to_classes(table, name)
    return values


def distinct_values(column: np.ndarray) -> np.ndarray:
    """The distinct values, sorted, without missing ones."""
    values = column[~is_missing(column)]
    try:
        found = np.unique(values)
    except TypeError as error:
        raise ValueError(
            "A column of classes must hold values of one type, all numbers or all "
            "texts. Convert them first."
        ) from error
    if found.dtype == object:  # an array of its own type compares faster and is saved
        found = np.array(found.tolist())
    whole = found.dtype.kind == "f" and np.array_equal(found, np.round(found))
    return found.astype(np.int64) if whole else found


def is_missing(column: np.ndarray) -> np.ndarray:
    """True where a value is None or NaN."""
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=bool)
    return np.array([value is None or value != value for value in column], dtype=bool)


def are_classes(values: Any) -> bool:
    """Whether a matrix holds classes rather than 0 and 1: texts or other integers.

    Examples
    --------
    >>> are_classes(np.eye(2)), are_classes(np.array([[0, 2], [1, 0]]))
    (False, True)
    >>> are_classes(np.array([["red"], ["blue"]])), are_classes(np.array([[0.5]]))
    (True, False)
    """
    if values.dtype.kind in "US":
        return True
    if values.dtype.kind == "O":
        texts = any(isinstance(value, str) for value in values.flat)
        if texts:
            return True
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            return False
    if values.dtype.kind == "b":
        return False
    known = values[~np.isnan(values.astype(np.float64))]
    whole = bool(np.array_equal(known, np.round(known)))
    return whole and not np.isin(known, (0, 1)).all()


def hold_classes(table: Table) -> bool:
    """Whether the columns of a table are classes: some is not of yes and no.

    Examples
    --------
    >>> hold_classes(Table.from_records([{"animal": "cat"}, {"animal": "dog"}]))
    True
    >>> hold_classes(Table.from_records([{"cat": "yes"}, {"cat": "no"}]))
    False
    """
    for name in table.names:
        try:
            to_labels(table, name)
        except WrongValueError:
            to_classes(table, name)  # refuses what is neither
            return True
    return False
