"""`PipelineEncoder`: the first steps of a scikit-learn pipeline encode a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array
from torch import Tensor

from crbm.preprocessing import sklearn_parts
from crbm.preprocessing.columns import BOOLEAN, Levels, number_matrix
from crbm.preprocessing.conversion import to_booleans, to_numbers
from crbm.preprocessing.packing import Packed
from crbm.preprocessing.recognition import Recognised
from crbm.preprocessing.table import Table, objects, text_of
from crbm.preprocessing.table_encoder import TableEncoder

STEPS = "the pipeline"


class PipelineEncoder(TableEncoder):
    """Tables of raw columns as numbers, computed by fitted steps of scikit-learn.

    Parameters
    ----------
    steps
        The fitted pipeline without its classifier.
    n_outputs
        The number of columns that it returns.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> rows = pd.DataFrame({"plan": ["free", "pro", "free"]})
    >>> steps = Pipeline([("levels", OneHotEncoder())]).fit(rows)
    >>> encoder = PipelineEncoder(steps, n_outputs=2)
    >>> encoder.transform([{"plan": "pro"}]).toarray()
    array([[0., 1.]])
    >>> encoder.used_columns
    ['plan']
    """

    def __init__(self, steps: Any, n_outputs: int) -> None:
        self.steps, self._n_outputs = steps, n_outputs
        names = getattr(steps, "feature_names_in_", None)
        self._is_array = names is None
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self.n_features_in_ = int(steps.n_features_in_)
        listed = names if names is not None else map(str, range(self.n_features_in_))
        kinds, levels = _kinds(steps)
        self.recognised_ = {
            str(name): kinds.get(place, Recognised("number"))
            for place, name in enumerate(listed)
        }
        # for the forms of the page; the steps encode
        names = list(self.recognised_)
        self.encoders_ = [
            Levels(names[place], own, has_other=False, has_missing=False)
            for place, own in levels.items()
        ]

    def fit(self, X: Any, y: Any = None) -> PipelineEncoder:
        """Nothing: the steps are fitted."""
        return self

    def transform(self, X: Any) -> Any:
        """What the steps return for a table: an array or a CSR matrix."""
        table = self._check_columns(self.to_table(X))
        return check_array(
            self.steps.transform(self._raw(table)),
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite="allow-nan",
        )

    @property
    def n_outputs(self) -> int:
        """The number of columns that `transform` returns."""
        return self._n_outputs

    def state(self) -> Packed:
        """The steps as bytes."""
        steps = sklearn_parts.to_tensor(self.steps, STEPS)
        return {"n_outputs": self._n_outputs}, {"steps": steps}

    @classmethod
    def from_state(
        cls, plain: Mapping[str, Any], tensors: Mapping[str, Tensor]
    ) -> PipelineEncoder:
        """The encoder whose `state` this was."""
        steps = sklearn_parts.from_tensor(tensors["steps"], STEPS)
        if not isinstance(steps, Pipeline):
            raise ValueError("the stored steps are no pipeline")
        return cls(steps, int(plain["n_outputs"]))

    def _raw(self, table: Table) -> Any:
        """The columns in the form in which the steps were fitted to them."""
        names = list(self.recognised_)
        if self._is_array:
            return number_matrix(table, names, ["."] * len(names))
        import pandas as pd

        return pd.DataFrame({name: self._values(table, name) for name in names})

    def _values(self, table: Table, name: str) -> np.ndarray:
        kind = self.recognised_[name].kind
        if kind is None:
            return np.full(len(table), np.nan)
        if kind == "number":
            return to_numbers(table, name)
        if kind == BOOLEAN:
            values = to_booleans(table, name)
            return values if np.isnan(values).any() else values.astype(bool)
        missing = "" if kind == "text" else np.nan
        texts = text_of(table[name])
        return objects([missing if text is None else text for text in texts])


def _kinds(steps: Pipeline) -> tuple[dict[int, Recognised], dict[int, list[str]]]:
    """What the columns at some places are, and the levels of categories.

    All others are numbers.
    """
    kinds: dict[int, Recognised] = {}
    levels: dict[int, list[str]] = {}
    for transformer, places, takes_one in _parts(steps):
        if transformer == "drop":
            found = Recognised(None, reason="the pipeline drops it")
            kinds |= dict.fromkeys(places, found)
            continue
        if takes_one:
            kinds |= dict.fromkeys(places, Recognised("text"))
            continue
        categories = _categories(transformer)
        for place, own in zip(places, categories or [], strict=False):
            texts = [level for level in own.tolist() if isinstance(level, str)]
            if all(isinstance(level, bool) for level in own.tolist()):
                kinds[place] = Recognised(BOOLEAN)
            elif texts:
                kinds[place], levels[place] = Recognised("categorical"), texts
    return kinds, levels


def _parts(steps: Pipeline) -> Iterator[tuple[Any, list[int], bool]]:
    """The transformers of raw columns, their places, and whether they take a series."""
    first = steps[0]
    if not isinstance(first, ColumnTransformer):
        yield steps, list(range(int(steps.n_features_in_))), False
        return
    names = list(getattr(first, "feature_names_in_", range(first.n_features_in_)))
    chosen: set[int] = set()
    for _, transformer, columns in first.transformers_:
        takes_one = isinstance(columns, str | int)
        places = _places(columns, names)
        if transformer != "drop" or not chosen.intersection(places):
            yield transformer, places, takes_one
        chosen.update(places)


def _places(columns: Any, names: list[Any]) -> list[int]:
    if isinstance(columns, slice):
        return list(range(len(names)))[columns]
    columns = [columns] if isinstance(columns, str | int) else list(columns)
    if len(columns) == len(names) and all(
        isinstance(c, bool | np.bool_) for c in columns
    ):
        return [int(place) for place in np.flatnonzero(columns)]
    return [names.index(c) if isinstance(c, str) else int(c) for c in columns]


def _categories(transformer: Any) -> list[np.ndarray] | None:
    """The categories of the first encoder in a transformer, one array per column."""
    parts = (
        [part for _, part in transformer.steps]
        if isinstance(transformer, Pipeline)
        else [transformer]
    )
    found = (getattr(part, "categories_", None) for part in parts)
    return next((categories for categories in found if categories is not None), None)
