"""From arrays, frames and tables to matrices of finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from crbm.preprocessing import MissingValues, Table, TableEncoder
from crbm.preprocessing.packing import below, pack, unpack
from crbm.preprocessing.pipeline_encoder import PipelineEncoder
from crbm.preprocessing.recognition import recognise
from crbm.preprocessing.table import is_frame, without_index
from crbm.preprocessing.table_encoder import is_records, no_column

LEARNED = ("encoder_", "missing_")


def to_numbers(estimator: Any, X: Any, *, learn: bool, reset: bool) -> Any:
    """X as an array or a CSR matrix without missing values.

    A frame or table with other columns than numbers, or with missing values, is
    encoded; what that takes is learned from X with `learn`, and with `reset` the
    features are. In arrays and sparse matrices missing values are replaced.
    """
    X = _named_columns(estimator, X, learn=learn)
    if learn:
        _forget(estimator)
        if needs_encoder(X):
            return _learn_encoder(estimator, X)
    if hasattr(estimator, "encoder_"):
        X = estimator.encoder_.transform(X)
    else:
        X = _plain_numbers(estimator, X, reset=reset)
    if learn:
        estimator.missing_ = MissingValues.learn(X)
    if hasattr(estimator, "missing_"):
        return estimator.missing_.transform(X)
    if not hasattr(estimator, "encoder_"):
        _refuse(estimator, X, np.isnan, "This model knows no missing values.")
    return X


def _named_columns(estimator: Any, X: Any, *, learn: bool) -> Any:
    """Records as a table, and a frame without the index that pandas stored."""
    if is_records(X):
        return Table.from_records(X, None if learn else column_names(estimator))
    return without_index(X) if is_frame(X) else X


def needs_encoder(X: Any) -> bool:
    """Whether X is a table with other columns than numbers, or missing values.

    Of a file, which has the columns that it happens to have, ids count as well.
    """
    if not is_table(X):
        return False
    from_file = isinstance(X, Table)
    table = X if from_file else Table.from_frame(X)
    return bool(table.roles) or any(
        column.kind not in ("number", "boolean")
        or column.is_missing().any()
        or (from_file and recognise(table, name).kind is None)
        for name, column in table.columns.items()
    )


def is_table(X: Any) -> bool:
    """Whether X has named columns."""
    return isinstance(X, Table) or is_frame(X)


def column_names(estimator: Any) -> list[str] | None:
    """The names of the columns that a fitted estimator needs, if it knows them."""
    if hasattr(estimator, "encoder_"):
        return list(estimator.encoder_.used_columns)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = getattr(estimator, "trained_on_", {}).get("feature_names")
    return None if names is None else list(names)


def in_pieces(estimator: Any, X: Any) -> Any:
    """X such that rows can be taken from it and encoded later, if there is a way."""
    if hasattr(estimator, "encoder_"):
        return estimator.encoder_.to_table(X)
    if is_records(X):
        return Table.from_records(X, column_names(estimator))
    is_array = isinstance(X, np.ndarray) and X.ndim == 2
    return X if is_array or isinstance(X, Table) else None


def n_inputs(estimator: Any) -> int:
    """The number of columns that `to_numbers` returns."""
    n_columns = int(estimator.n_features_in_)
    if hasattr(estimator, "encoder_"):
        n_columns = int(estimator.encoder_.n_outputs)
    if hasattr(estimator, "missing_"):
        return int(estimator.missing_.n_outputs(n_columns))
    return n_columns


def to_examples(estimator: Any, X: Any) -> Any:
    """Rows to try a fitted estimator on: a table of its columns, or an array."""
    if not hasattr(estimator, "encoder_"):
        return np.asarray(X)
    return estimator.encoder_.normalise(X)


def state(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Plain data and tensors that a file must hold of what was learned."""
    plain: dict[str, Any] = {}
    tensors: dict[str, Any] = {}
    if hasattr(estimator, "encoder_"):
        plain["encoder_"], arrays = estimator.encoder_.state()
        tensors |= {f"encoder.{name}": array for name, array in arrays.items()}
        if hasattr(estimator, "examples_"):
            plain["examples_"] = estimator.examples_.records()
    if hasattr(estimator, "missing_"):
        arrays = pack(estimator.missing_)[1]
        tensors |= {f"missing.{name}": array for name, array in arrays.items()}
    return plain, tensors


def restore(estimator: Any, plain: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Set what `state` gave."""
    if "encoder_" in plain:
        arrays = below("encoder.", tensors)
        kind = PipelineEncoder if "steps" in arrays else TableEncoder
        estimator.encoder_ = kind.from_state(plain["encoder_"], arrays)
        if "examples_" in plain:
            names = estimator.encoder_.used_columns
            estimator.examples_ = Table.from_records(plain["examples_"], names)
    arrays = below("missing.", tensors)
    if arrays:
        estimator.missing_ = unpack(MissingValues, {}, arrays)


def _forget(estimator: Any) -> None:
    for name in LEARNED:
        if hasattr(estimator, name):
            delattr(estimator, name)


def _learn_encoder(estimator: Any, X: Any) -> Any:
    encoder = TableEncoder()
    numbers = encoder.fit(X).transform(X)
    estimator.encoder_ = encoder
    estimator.n_features_in_ = encoder.n_features_in_
    estimator.feature_names_in_ = encoder.feature_names_in_
    return numbers


def _plain_numbers(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X checked by scikit-learn's rules: finite numbers or NaN.

    Single precision stays single and all else becomes double, as in scikit-learn.
    """
    names = None
    if isinstance(X, Table):
        names = X.names if reset else known_names(estimator, X)
        X = _stack(X, names)
    X = validate_data(
        estimator,
        X,
        reset=reset or names is not None,
        accept_sparse="csr",
        dtype=(np.float64, np.float32),
        ensure_all_finite=False,
    )
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    _refuse(estimator, X, np.isinf, "Input X contains infinity.")
    return X


def known_names(estimator: Any, table: Table) -> list[str]:
    """The columns of a table that a fitted estimator needs."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        if len(table.columns) != estimator.n_features_in_:
            raise ValueError(
                f"The model needs {estimator.n_features_in_} columns; the table has "
                f"{len(table.columns)}. Give it the columns it was trained on."
            )
        return table.names
    for name in names:
        if name not in table.columns:
            raise ValueError(no_column(name, table.names))
    return list(names)


def _stack(table: Table, names: list[str]) -> np.ndarray:
    from crbm.preprocessing.columns import number_matrix

    return number_matrix(table, names, ["."] * len(names)).astype(np.float32)


def _refuse(estimator: Any, X: Any, test: Any, problem: str) -> None:
    """Refuse numbers that are not finite, with their column."""
    values = X.data if sparse.issparse(X) else X
    if not values.size or not test(values.min() + values.max()):
        return
    dense = X.toarray() if sparse.issparse(X) else X
    places = np.argwhere(test(dense))
    if not len(places):
        return
    row, column = places[0]
    names = getattr(estimator, "feature_names_in_", None)
    name = f"`{names[column]}`" if names is not None else str(column)
    raise ValueError(
        f"{problem} Column {name} of X holds {dense[row, column]:g}. Correct it."
    )
