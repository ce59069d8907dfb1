"""Encoders of the columns of a table, one for each kind.

Each is a dataclass of what it learned: lists, strings and arrays, so that a file can
hold it. `learn` makes one from a table, `encode` gives the numbers of another table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from crbm.preprocessing import conversion
from crbm.preprocessing.missing import MissingValues
from crbm.preprocessing.table import Table

BOOLEAN = "boolean"  # the form of a column of yes and no among the numbers
ENOUGH = 10  # a level with this many cases always gets its own column
ROWS_PER_CASE = 200  # in smaller tables a level needs one case per this many rows
SMALL = 20  # rows; in larger tables a word counts only if two rows have it
SECONDS = {"since": 86400.0, "hour": 3600.0}


@dataclass
class Scaled:
    """Numbers with missing ones imputed, mean 0 and variance 1; then the indicators."""

    missing: MissingValues
    mean: np.ndarray
    scale: np.ndarray

    def __post_init__(self) -> None:
        if not len(self.mean) == len(self.scale) == len(self.missing.medians):
            raise ValueError("a mean, a scale and a median are needed per column")

    @classmethod
    def learn(cls, values: np.ndarray, unscaled: Sequence[bool]) -> Scaled:
        """Learn from numbers with NaN where one is missing; some are not scaled."""
        missing = MissingValues.learn(values)
        filled = missing.transform(values)[:, : values.shape[1]]
        largest = np.abs(filled).max(axis=0, initial=0.0)
        largest[largest == 0] = 1.0
        mean = filled.mean(axis=0)
        scale = (filled / largest).std(axis=0) * largest  # squares could overflow
        keep = np.asarray(unscaled, dtype=bool)
        mean[keep], scale[keep | (scale < 1e-12 * largest)] = 0.0, 1.0
        return cls(missing, mean, scale)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """The numbers, then the marks of missing ones."""
        filled = self.missing.transform(values)
        n_columns = len(self.mean)
        filled[:, :n_columns] = (filled[:, :n_columns] - self.mean) / self.scale
        return filled


@dataclass
class Numbers:
    """All columns of numbers and booleans; booleans stay 0 and 1.

    `forms` holds the decimal point of each column, or `BOOLEAN`.
    """

    columns: list[str]
    forms: list[str]
    scaled: Scaled

    @classmethod
    def learn(cls, table: Table, forms: dict[str, str]) -> Numbers:
        """Learn from the columns in `forms`."""
        values = number_matrix(table, list(forms), list(forms.values()))
        unscaled = [form == BOOLEAN for form in forms.values()]
        scaled = Scaled.learn(values, unscaled)
        return cls(list(forms), list(forms.values()), scaled)

    def encode(self, table: Table) -> np.ndarray:
        """The numbers, then the marks of missing ones."""
        return self.scaled.encode(number_matrix(table, self.columns, self.forms))

    def names_out(self) -> list[str]:
        """The columns, and those of the marks."""
        marked = self.scaled.missing.marked
        return [*self.columns, *(f"{self.columns[i]}=missing" for i in marked)]


def number_matrix(
    table: Table, columns: Sequence[str], forms: Sequence[str]
) -> np.ndarray:
    """Columns of numbers and booleans side by side."""
    values = np.empty((len(table), len(columns)))
    for place, (name, form) in enumerate(zip(columns, forms, strict=True)):
        if form == BOOLEAN:
            values[:, place] = conversion.to_booleans(table, name)
        else:
            values[:, place] = conversion.to_numbers(table, name, form)
    return values


@dataclass
class Dates:
    """One column of dates: days since the first one, year, month, weekday and hour.

    Parts that are the same in all rows of the training data are left out.
    """

    column: str
    form: str
    first: str
    parts: list[str]
    scaled: Scaled

    @classmethod
    def learn(cls, table: Table, column: str, form: str) -> Dates:
        """Learn from the column of a table."""
        dates = conversion.to_dates(table, column, form)
        first = dates[~np.isnat(dates)].min()
        features = date_features(dates, first)
        parts = [name for name, part in features.items() if np.nanstd(part) > 0]
        values = np.column_stack([features[name] for name in parts or ("since",)])
        scaled = Scaled.learn(values, [False] * values.shape[1])
        scaled.missing.marked = scaled.missing.marked[:1]  # all parts miss together
        return cls(column, form, str(first), parts or ["since"], scaled)

    def encode(self, table: Table) -> np.ndarray:
        """The parts of each date, then the mark of missing ones."""
        dates = conversion.to_dates(table, self.column, self.form)
        features = date_features(dates, np.datetime64(self.first, "us"))
        return self.scaled.encode(np.column_stack([features[p] for p in self.parts]))

    def names_out(self) -> list[str]:
        """The parts, and the mark."""
        names = [f"{self.column}: {part}" for part in self.parts]
        return names + [f"{self.column}=missing"] * len(self.scaled.missing.marked)


def date_features(dates: np.ndarray, first: np.datetime64) -> dict[str, np.ndarray]:
    """Numbers of each date by their names; NaN where it is missing.

    Examples
    --------
    >>> day = np.array(["2024-02-29T06:00"], dtype="datetime64[us]")
    >>> features = date_features(day, np.datetime64("2024-02-28"))
    >>> {name: float(values[0]) for name, values in features.items()}
    {'since': 1.25, 'year': 2024.0, 'month': 2.0, 'weekday': 4.0, 'hour': 6.0}
    """
    gone = np.isnat(dates)
    dates = np.where(gone, first, dates).astype("datetime64[us]")
    days, months = dates.astype("datetime64[D]"), dates.astype("datetime64[M]")
    years = dates.astype("datetime64[Y]")
    second = np.timedelta64(1, "s")
    features = {
        "since": (dates - first) / second / SECONDS["since"],
        "year": years.astype(np.int64) + 1970,
        "month": months.astype(np.int64) % 12 + 1,
        "weekday": (days.astype(np.int64) + 3) % 7 + 1,  # 1970 began on a Thursday
        "hour": (dates - days) / second / SECONDS["hour"],
    }
    return {name: np.where(gone, np.nan, part) for name, part in features.items()}


@dataclass
class Levels:
    """One column of categories: a column of 0 and 1 for each level.

    Rare levels share one column, which unseen ones use as well. Missing values have
    one, if any were missing in training. Levels are compared without regard to case.
    """

    column: str
    levels: list[str]
    has_other: bool
    has_missing: bool

    @classmethod
    def learn(cls, table: Table, column: str, max_levels: int) -> Levels:
        """Learn the levels of the column of a table, the most frequent ones first."""
        values = conversion.to_levels(table, column)
        spelled = Counter(value for value in values if value is not None)
        counts: Counter[str] = Counter()
        for value, count in spelled.items():
            counts[value.casefold()] += count
        names = {value.casefold(): value for value, _ in spelled.most_common()[::-1]}
        needed = min(ENOUGH, max(1, len(table) // ROWS_PER_CASE))
        ranked = sorted(counts, key=lambda level: (-counts[level], level))
        frequent = [level for level in ranked if counts[level] >= needed][:max_levels]
        return cls(
            column,
            [names[level] for level in frequent],
            has_other=len(frequent) < len(counts),
            has_missing=None in values,
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        return {level.casefold(): place for place, level in enumerate(self.levels)}

    def encode(self, table: Table) -> np.ndarray:
        """1 in the column of each row's level, and 0 elsewhere."""
        block = np.zeros((len(table), len(self.names_out())))
        other = len(self.levels) if self.has_other else None
        missing = len(self.levels) + self.has_other if self.has_missing else None
        for row, value in enumerate(conversion.to_levels(table, self.column)):
            unknown = missing if value is None else other
            place = self._places.get((value or "").casefold(), unknown)
            if place is not None:
                block[row, place] = 1
        return block

    def names_out(self) -> list[str]:
        """The levels, then `other` and `missing`."""
        more = ["other"] * self.has_other + ["missing"] * self.has_missing
        return [f"{self.column}={level}" for level in [*self.levels, *more]]


@dataclass
class Texts:
    """One column of texts: TF-IDF of its words, the most frequent ones only."""

    column: str
    words: list[str]
    idf: np.ndarray

    def __post_init__(self) -> None:
        if self.idf.shape != (len(set(self.words)),):
            raise ValueError(f"the words of `{self.column}` need one weight each")

    @classmethod
    def learn(cls, table: Table, column: str, max_words: int) -> Texts:
        """Learn the words of the column of a table."""
        texts = conversion.to_texts(table, column)
        fewest = 2 if len(texts) > SMALL else 1
        vectorizer = _vectorizer(min_df=fewest, max_features=max_words)
        try:
            vectorizer.fit(texts)
        except ValueError:  # no word at all, or none twice
            return cls(column, [], np.zeros(0))
        return cls(column, vectorizer.get_feature_names_out().tolist(), vectorizer.idf_)

    @cached_property
    def _fitted(self) -> TfidfVectorizer:
        vectorizer = _vectorizer(vocabulary=self.words)
        vectorizer.idf_ = self.idf
        return vectorizer

    def encode(self, table: Table) -> sparse.csr_array:
        """The weights of the words of each row, of length 1."""
        texts = conversion.to_texts(table, self.column)
        if not self.words:
            return sparse.csr_array((len(texts), 0))
        return sparse.csr_array(self._fitted.transform(texts))

    def names_out(self) -> list[str]:
        """The words."""
        return [f"{self.column}: {word}" for word in self.words]


ColumnEncoder: TypeAlias = Numbers | Dates | Levels | Texts


def _vectorizer(**options: Any) -> TfidfVectorizer:
    return TfidfVectorizer(sublinear_tf=True, strip_accents="unicode", **options)
