"""From arrays, frames and label sets to tensors, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    column_or_1d,
)
from torch import Generator, Tensor

from crbm import checks
from crbm.estimators import defaults, inputs, label_sets, stacking
from crbm.hashing.arrays import from_torch
from crbm.preprocessing import ClassColumns, Preprocessor
from crbm.preprocessing.choice import choose
from crbm.preprocessing.class_columns import are_classes, hold_classes
from crbm.preprocessing.stored import StoredRows, forget_pages
from crbm.training import distributed
from crbm.types import Batch

ROWS_AT_ONCE = 1024


class Outputs(NamedTuple):
    """Encoded labels: 0, 1 or NaN, with their classes and names."""

    v: Float[Tensor, "cases labels"]
    classes: Any  # of a single column, or of each column in a list
    label_names: list[str]
    single: bool  # one column of classes rather than a matrix
    columns: ClassColumns | None = None  # where they are not just 0 and 1


def to_generator(random_state: Any) -> Generator:
    """A torch generator seeded by scikit-learn's `random_state`."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return torch.Generator().manual_seed(int(seed))


def fit_generator(random_state: Any) -> Generator:
    """The generator of a fit; under torchrun all ranks have the first one's seed."""
    seed = to_generator(random_state).initial_seed()
    return torch.Generator().manual_seed(distributed.current().same(seed))


def to_inputs(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as numbers, checked and preprocessed: an array or a CSR matrix.

    The models compute in the precision of X; single is at least twice as fast.
    """
    X = inputs.to_numbers(estimator, from_torch(X), learn=False, reset=reset)
    scaled = preprocessed(estimator, X)
    return stacking.add(estimator, X, scaled) if has_base(estimator) else scaled


def preprocessed(estimator: Any, X: Any) -> Any:
    """Numbers X scaled, or as features of a kernel."""
    if estimator.preprocessing == "none":
        return X
    return estimator.preprocessor_.transform(X)


def has_base(estimator: Any) -> bool:
    """Whether the log-odds of another classifier are among the inputs."""
    return getattr(estimator, "base", None) is not None


def learn_preprocessing(
    estimator: Any, X: Any, v: Float[Tensor, "cases labels"], *, in_parts: bool
) -> None:
    """Learn the preprocessing of numbers X; "auto" also looks at the labels.

    With `in_parts` more cases will follow, so that no kernel is spanned by these.
    """
    if estimator.preprocessing == "none":
        return
    kind, gamma = estimator.preprocessing, estimator.kernel_gamma
    if kind == "auto":
        encoded = hasattr(estimator, "encoder_")
        kind = "none" if encoded else defaults.scaling(X)
        if has_base(estimator) and estimator.base_inputs == "instead":
            kind = "none"
        elif not in_parts and estimator.learning_rate == "auto":
            kind, gamma = choose(X, v.numpy(), kind)
    new = Preprocessor(kind, gamma, estimator.kernel_features)
    estimator.preprocessor_ = new.fit(X)


def rows_at_a_time(
    estimator: Any, X: Any, labels: Tensor | None = None
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Checked inputs and labels as tensors, `ROWS_AT_ONCE` cases at a time.

    An array is checked in pieces too: one that is mapped from a file is never in memory
    as a whole, and one of another precision is never copied as a whole.
    """
    if labels is not None and len(labels) != _num_samples(X):
        raise ValueError(
            f"Labels need one row per case; `X` has {_num_samples(X)} rows, the "
            f"labels have {len(labels)}."
        )
    if isinstance(X, StoredRows):
        start = 0
        for piece in X.all_pieces():
            own = None if labels is None else labels[start : start + len(piece)]
            yield from rows_at_a_time(estimator, piece, own)
            start += len(piece)
        return
    X = from_torch(X)
    raw = inputs.in_pieces(estimator, X)
    X = to_inputs(estimator, X, reset=False) if raw is None else raw
    for start in range(0, max(X.shape[0], 1), ROWS_AT_ONCE):
        rows = X[start : start + ROWS_AT_ONCE]
        if raw is not None:
            rows = to_inputs(estimator, rows, reset=False)
        u = dense(rows, precision(estimator))
        known = None if labels is None else labels[start : start + len(u)].to(u)
        yield u, known
        forget_pages(X)


def precision(estimator: Any) -> torch.dtype | None:
    """The precision of the models; None before there are any."""
    if hasattr(estimator, "models_"):
        return next(estimator.models_[0].parameters()).dtype
    return None


def fit_data(
    estimator: Any,
    X: Any,
    Y: Any,
    sample_weight: Any,
    classes: Any = None,
    *,
    in_parts: bool = False,
) -> Batch:
    """Training cases; what is learned of X and Y is set on the estimator.

    With `in_parts` more cases will follow. A warm start keeps the encoding and the
    preprocessing that were learned before.
    """
    learn = not hasattr(estimator, "models_")
    X = inputs.to_numbers(estimator, from_torch(X), learn=learn, reset=True)
    Y = label_sets.as_lists(from_torch(Y))
    several = estimator.several_classes
    if classes is not None and np.ndim(Y) == 1:
        found = _encode_classes(np.asarray(Y), np.unique(classes), several=several)
    else:
        found = to_outputs(Y, several=several)
    checks.same_length(X=torch.empty(X.shape[0], 0), Y=found.v)
    if learn:
        learn_preprocessing(estimator, X, found.v, in_parts=in_parts)
    scaled = preprocessed(estimator, X)
    if has_base(estimator):
        seed = fit_generator(estimator.random_state).initial_seed() % 2**32
        X = stacking.learn(estimator, X, scaled, found.v, sample_weight, seed)
    else:
        X = scaled
    estimator.classes_, estimator.single_column_ = found.classes, found.single
    estimator.label_names_, estimator.n_labels_ = found.label_names, found.v.shape[1]
    estimator.columns_ = found.columns
    return weigh(to_cases(estimator, X, found.v), sample_weight)


def more_data(estimator: Any, X: Any, Y: Any, sample_weight: Any) -> Batch:
    """Further cases for an estimator that has been fitted."""
    X, v = to_inputs(estimator, X, reset=False), encode_labels(estimator, Y)
    return weigh(to_cases(estimator, X, v), sample_weight)


def to_cases(estimator: Any, X: Any, v: Tensor) -> Batch:
    """Preprocessed inputs and encoded labels as a batch."""
    u = dense(X, precision(estimator))
    return Batch(u, v.to(u))


def weigh(data: Batch, sample_weight: Any) -> Batch:
    """The cases with their weights, without those of weight 0."""
    assert data.u is not None
    checks.same_length(X=data.u, Y=data.v)
    if sample_weight is None:
        return data
    weight = _check_sample_weight(
        from_torch(sample_weight), data.u, dtype=np.float64, ensure_non_negative=True
    )
    data = data._replace(weight=torch.from_numpy(weight).to(data.u))
    return data.select(torch.from_numpy(np.flatnonzero(weight > 0)))


def encode_labels(estimator: Any, Y: Any) -> Float[Tensor, "cases labels"]:
    """Labels of a fitted estimator as 0, 1 and NaN."""
    Y = label_sets.as_lists(from_torch(Y))
    if estimator.columns_ is not None:
        return _encode_columns(estimator, Y)
    if estimator.single_column_ and np.ndim(Y) == 1:
        return encode_column(Y, estimator.classes_)
    if label_sets.is_sets(Y):
        Y = label_sets.from_sets(Y, estimator.label_names_)[0]
    elif inputs.is_table(Y):
        Y = label_sets.from_table(Y)[0]
    v = check_binary(Y.to_numpy() if hasattr(Y, "to_numpy") else Y)
    if v.shape[-1] != estimator.n_labels_:
        raise ValueError(
            f"`Y` must have {estimator.n_labels_} columns, one per label; got shape "
            f"{tuple(v.shape)}."
        )
    return v


def _encode_columns(estimator: Any, Y: Any) -> Float[Tensor, "cases labels"]:
    """Classes, or the numbers 0 and 1 of all classes, as groups of numbers."""
    columns: ClassColumns = estimator.columns_
    if inputs.is_table(Y):
        values = ClassColumns.from_table(label_sets.to_table(Y))[1]
    else:
        values = np.asarray(Y.toarray() if sparse.issparse(Y) else Y)
    if values.ndim == 1:
        values = values[:, None]
    if values.shape[1] == estimator.n_labels_:
        v = check_binary(values)
        columns.units.check("Y", v, missing=True)
        return v
    if values.shape[1] != len(columns.names):
        raise ValueError(
            f"`Y` must have {len(columns.names)} columns of classes, or "
            f"{estimator.n_labels_} of 0 and 1; got shape {values.shape}."
        )
    return columns.encode(values)


def decode_labels(estimator: Any, labels: np.ndarray) -> np.ndarray:
    """0 and 1 as the classes that a user passed."""
    if estimator.columns_ is not None:
        classes = estimator.columns_.decode(labels)
        return classes[..., 0] if estimator.single_column_ else classes
    return estimator.classes_[labels[:, 0]] if estimator.single_column_ else labels


def dense(X: Any, dtype: torch.dtype | None = None) -> Float[Tensor, "cases inputs"]:
    """Rows of inputs as a tensor."""
    rows = X.toarray() if sparse.issparse(X) else X
    return torch.from_numpy(np.require(rows, requirements=["C", "W"])).to(dtype)


def to_outputs(Y: Any, *, several: bool = True) -> Outputs:
    """Encode labels: a matrix or frame of 0 and 1, sets, or columns of classes.

    `several` allows more than two classes, which not all classifiers can learn.
    """
    if Y is None:
        raise ValueError(
            "This classifier requires y to be passed, but the target y is None."
        )
    if sparse.issparse(Y):
        Y = Y.toarray()
    if label_sets.is_sets(Y):
        values, names = label_sets.from_sets(Y)
    elif inputs.is_table(Y):
        table = label_sets.to_table(Y)
        if several and hold_classes(table):
            return _of_columns(*ClassColumns.from_table(table))
        values, names = label_sets.from_table(table)
    else:
        values, names = np.asarray(Y), []
    if values.ndim == 1:
        return _one_column(values, several=several)
    if values.ndim != 2:
        raise ValueError(
            f"`Y` must be a column or a matrix of labels; got shape {values.shape}."
        )
    if several and are_classes(values):
        return _of_columns(ClassColumns.learn(values), values)
    v = check_binary(values)
    labels = np.arange(v.shape[1])
    return Outputs(v, labels, names or [str(label) for label in labels], single=False)


def _of_columns(columns: ClassColumns, values: np.ndarray) -> Outputs:
    v, names = columns.encode(values), columns.label_names
    return Outputs(v, columns.classes, names, single=False, columns=columns)


def check_binary(values: Any) -> Float[Tensor, "cases labels"]:
    """A matrix of 0, 1 and NaN as a tensor; the first other column is named."""
    if sparse.issparse(values):
        values = values.toarray()
    try:
        values = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "Labels must be numbers 0 and 1, or NaN where unknown; got "
            f"{np.asarray(values).dtype}. Encode them, e.g. with MultiLabelBinarizer."
        ) from error
    place = checks.first_not_binary(values.T, missing=True)
    if place is not None:
        column = place[0]
        held = ", ".join(f"{value:g}" for value in np.unique(values[:, column])[:5])
        raise ValueError(
            f"Labels must be binary; column {column} of `Y` holds {{{held}}}. "
            "Binarise it, e.g. with MultiLabelBinarizer."
        )
    return torch.from_numpy(np.ascontiguousarray(values))


def encode_column(values: Any, classes: np.ndarray) -> Float[Tensor, "cases 1"]:
    """One column of known classes as 0 and 1."""
    values = column_or_1d(values)
    strange = ~np.isin(values, classes)
    if strange.any():
        raise ValueError(
            f"`Y` holds {values[strange].tolist()[0]!r}, not among the classes "
            f"{classes.tolist()} seen before."
        )
    return torch.from_numpy((values == classes[-1]).astype(np.float32)[:, None])


def _one_column(values: np.ndarray, *, several: bool) -> Outputs:
    if values.dtype.kind == "f":
        assert_all_finite(values, input_name="y")
    check_classification_targets(values)
    kind = type_of_target(values, input_name="y")
    if kind != "binary" and not several:
        raise ValueError(
            "Only binary classification is supported for a single column. The type of "
            f"the target is {kind}. Use CRBMClassifier or HashCRBMClassifier, or "
            "binarise it, e.g. with LabelBinarizer."
        )
    return _encode_classes(values, np.unique(values), several=several)


def _encode_classes(
    values: np.ndarray, classes: np.ndarray, *, several: bool
) -> Outputs:
    """One column of known classes: a number for two of them, a group for more."""
    if len(classes) == 1:
        raise ValueError(
            "A single column needs two classes or more, but `Y` has only one class: "
            f"{classes.tolist()[0]!r}."
        )
    if len(classes) == 2 or not several:
        name = str(classes[-1])
        return Outputs(encode_column(values, classes), classes, [name], single=True)
    columns = ClassColumns(["class"], [classes])
    v = columns.encode(column_or_1d(values)[:, None])
    return Outputs(v, classes, columns.label_names, single=True, columns=columns)
