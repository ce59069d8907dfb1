"""`TableEncoder`: tables of mixed columns as numbers, in the way of scikit-learn."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted
from torch import Tensor

from crbm import checks
from crbm.preprocessing.columns import (
    BOOLEAN,
    ColumnEncoder,
    Dates,
    Levels,
    Numbers,
    Texts,
)
from crbm.preprocessing.conversion import to_booleans, to_dates, to_numbers
from crbm.preprocessing.packing import Packed, below, pack, unpack
from crbm.preprocessing.recognition import OF_IDS, Recognised, recognise
from crbm.preprocessing.table import Column, Table, is_frame


class TableWarning(UserWarning):
    """Something about the columns of a table that its user should know."""


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Numbers for the columns of a table: numeric, categorical, text, date, boolean.

    The kind of each column is recognised in `fit`. Numbers are standardised, with the
    median in place of missing ones and a column that marks them; booleans are 0 and 1;
    categories get a column of 0 and 1 per level, with one for rare and unseen levels;
    texts become TF-IDF weights of their words; dates become days, year, month, weekday
    and hour. Ids, row numbers, constants and empty columns are left out with a warning.

    Parameters
    ----------
    drop
        Names of columns to leave out.
    categorical, text
        Names of columns that hold categories and texts, whatever they look like.
    max_levels
        The most levels of a category with a column of their own.
    max_words
        The most words of a text column.

    Attributes
    ----------
    recognised_
        What each column was read as, by its name.
    encoders_
        The encoders of the columns, in the order of the output.
    feature_names_in_, n_features_in_
        The columns of the table.

    Examples
    --------
    >>> rows = [{"age": 57, "plan": "free"}, {"age": None, "plan": "pro"}]
    >>> encoder = TableEncoder().fit(Table.from_records(rows))
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age=missing', 'plan=free', 'plan=pro']
    >>> encoder.transform([{"plan": "gold", "age": 60}])
    array([[3., 0., 0., 0.]], dtype=float32)
    """

    def __init__(
        self,
        *,
        drop: Any = (),
        categorical: Any = (),
        text: Any = (),
        max_levels: Any = 50,
        max_words: Any = 2000,
    ) -> None:
        self.drop, self.categorical, self.text = drop, categorical, text
        self.max_levels, self.max_words = max_levels, max_words

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Recognise the columns of a table, frame or array and learn from them."""
        checks.whole_number("max_levels", self.max_levels, at_least=1)
        checks.whole_number("max_words", self.max_words, at_least=1)
        table = self._fit_table(X)
        self.recognised_ = {
            name: self._recognise(table, name) for name in table.columns
        }
        self.encoders_ = self._learn(table)
        if not self.n_outputs:
            raise ValueError(
                f"None of the {len(table.columns)} columns can be used: "
                f"{_reasons(self.recognised_)}."
            )
        self._warn()
        return self

    def transform(self, X: Any) -> Any:
        """The columns as float32: an array, or a CSR matrix if there are texts.

        Columns are found by name, in any order; others are ignored.
        """
        check_is_fitted(self)
        table = self._check_columns(self.to_table(X))
        blocks = [encoder.encode(table) for encoder in self.encoders_]
        if any(sparse.issparse(block) for block in blocks):
            return sparse.hstack(blocks, format="csr", dtype=np.float32)
        return np.hstack(blocks).astype(np.float32)

    def normalise(self, X: Any) -> Table:
        """The columns that `transform` needs, with numbers and dates as such.

        Files may hold them as words, such as "1,5", "yes" or "31.12.2024".
        """
        table = self._check_columns(self.to_table(X)).select(self.used_columns)
        columns = dict(table.columns)
        for name in table.columns:
            kind, form, *_ = self.recognised_[name]
            if kind == "number":
                columns[name] = Column(kind, to_numbers(table, name, form))
            elif kind == "boolean":
                columns[name] = Column(kind, to_booleans(table, name))
            elif kind == "date":
                columns[name] = Column(kind, to_dates(table, name, form))
        return replace(table, columns=columns)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns that `transform` returns."""
        check_is_fitted(self)
        names = [name for encoder in self.encoders_ for name in encoder.names_out()]
        return np.asarray(names, dtype=object)

    @property
    def n_outputs(self) -> int:
        """The number of columns that `transform` returns."""
        return sum(len(encoder.names_out()) for encoder in self.encoders_)

    @property
    def used_columns(self) -> list[str]:
        """The columns that `transform` needs."""
        return [name for name, found in self.recognised_.items() if found.kind]

    def state(self) -> Packed:
        """What was learned: plain data, and tensors by their names."""
        check_is_fitted(self)
        plain: dict[str, Any] = {"encoders": []}
        tensors: dict[str, Tensor] = {}
        for place, encoder in enumerate(self.encoders_):
            described, arrays = pack(encoder)
            plain["encoders"].append({"class": type(encoder).__name__, **described})
            tensors |= {f"{place}.{name}": array for name, array in arrays.items()}
        columns = {n: found._asdict() for n, found in self.recognised_.items()}
        return {**plain, "columns": columns, "is_array": self._is_array}, tensors

    @classmethod
    def from_state(
        cls, plain: Mapping[str, Any], tensors: Mapping[str, Tensor]
    ) -> TableEncoder:
        """The encoder whose `state` this was."""
        encoder = cls()
        encoder.recognised_ = {
            name: Recognised(**found) for name, found in plain["columns"].items()
        }
        encoder.n_features_in_ = len(encoder.recognised_)
        encoder._is_array = bool(plain["is_array"])
        if not encoder._is_array:
            names = np.asarray(list(encoder.recognised_), dtype=object)
            encoder.feature_names_in_ = names
        encoder.encoders_ = [
            _restore_column(described, below(f"{place}.", tensors))
            for place, described in enumerate(plain["encoders"])
        ]
        needed = [name for each in encoder.encoders_ for name in _columns(each)]
        if not set(needed) <= set(encoder.used_columns):
            raise ValueError("the encoded columns are not those of the table")
        return encoder

    def _fit_table(self, X: Any) -> Table:
        table = self.to_table(X, fitting=True)
        for name in (*self.drop, *self.categorical, *self.text):
            if name not in table.columns:
                raise ValueError(no_column(name, table.names))
        table = table.mark("categorical", self.categorical).mark("text", self.text)
        self.n_features_in_ = len(table.columns)
        self._is_array = not (isinstance(X, Table) or is_frame(X))
        if not self._is_array:
            self.feature_names_in_ = np.asarray(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return table

    def to_table(self, X: Any, *, fitting: bool = False) -> Table:
        """A table, frame, array or list of records as a table."""
        if isinstance(X, Table):
            return X
        if is_frame(X):
            return Table.from_frame(X)
        if is_records(X):
            return Table.from_records(X, None if fitting else self.used_columns)
        if isinstance(X, dict) and not sparse.issparse(X):
            raise ValueError("X is one row by names. Put it into a list: [row].")
        X = check_array(X, dtype=None, ensure_all_finite=False, estimator=self)
        names = None if fitting else list(self.recognised_)
        if names is not None and X.shape[1] != len(names):
            raise ValueError(
                f"X has {X.shape[1]} features, but TableEncoder is expecting "
                f"{len(names)} features as input."
            )
        return Table.from_array(X, names)

    def _recognise(self, table: Table, name: str) -> Recognised:
        if name in self.drop:
            return Recognised(None, reason="asked for")
        if self._is_array and table[name].kind in ("number", "boolean"):
            return Recognised(table[name].kind)
        return recognise(table, name)

    def _learn(self, table: Table) -> list[ColumnEncoder]:
        kinds = self.recognised_
        forms = {
            name: BOOLEAN if found.kind == "boolean" else found.form
            for name, found in kinds.items()
            if found.kind in ("number", "boolean")
        }
        encoders: list[ColumnEncoder] = [Numbers.learn(table, forms)] if forms else []
        for name, found in kinds.items():
            if found.kind == "date":
                encoders.append(Dates.learn(table, name, found.form))
            elif found.kind == "categorical":
                encoders.append(Levels.learn(table, name, self.max_levels))
        texts = [name for name, found in kinds.items() if found.kind == "text"]
        return encoders + [Texts.learn(table, name, self.max_words) for name in texts]

    def _check_columns(self, table: Table) -> Table:
        for name in self.used_columns:
            if name not in table.columns:
                raise ValueError(no_column(name, table.names))
        return table

    def _warn(self) -> None:
        for name, (kind, _, reason, note) in self.recognised_.items():
            if note:
                warnings.warn(f"Column `{name}`: {note}.", TableWarning, stacklevel=3)
            if kind is None and name not in self.drop:
                warnings.warn(left_out(name, reason), TableWarning, stacklevel=3)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def left_out(name: str, reason: str) -> str:
    """The notice that a column is not used."""
    advice = " Name it as categorical or text to use it." if reason in OF_IDS else ""
    return f"Column `{name}` is left out: {reason}.{advice}"


def no_column(name: str, names: Sequence[str]) -> str:
    """The message that a column is missing, with the name that was perhaps meant."""
    near = difflib.get_close_matches(name, names[:10_000], n=1)
    if near:
        return f"There is no column `{name}`. Did you mean `{near[0]}`?"
    listed = ", ".join(f"`{known}`" for known in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"There is no column `{name}`; the columns are {listed}{more}."


def _restore_column(
    described: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> ColumnEncoder:
    classes = {kind.__name__: kind for kind in (Numbers, Dates, Levels, Texts)}
    found: ColumnEncoder = unpack(classes[described["class"]], described, tensors)
    return found


def is_records(X: Any) -> bool:
    """Whether X is a list of rows given as mappings from names to values."""
    return isinstance(X, list | tuple) and bool(X) and isinstance(X[0], dict)


def _reasons(recognised: dict[str, Recognised]) -> str:
    items: Iterable[str] = (f"`{n}`: {f.reason}" for n, f in recognised.items())
    return "; ".join(items)[:300]


def _columns(encoder: Any) -> list[str]:
    """The columns that the encoder of one or several columns reads."""
    return encoder.columns if isinstance(encoder, Numbers) else [encoder.column]
