"""Between scikit-learn's world and the core's: arrays, labels and seeds."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d, validate_data
from torch import Generator, Tensor


class Outputs(NamedTuple):
    """Encoded labels: 0, 1 or NaN, and what they stood for."""

    v: Float[Tensor, "cases labels"]
    classes: np.ndarray
    label_names: list[str]
    single: bool  # one column of two classes rather than an indicator matrix


def to_generator(random_state: Any) -> Generator:
    """A torch generator seeded by scikit-learn's `random_state`."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return torch.Generator().manual_seed(int(seed))


def to_inputs(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X checked by scikit-learn's rules: an array or a CSR matrix.

    Single precision stays single and all else becomes double, as in scikit-learn. The
    models compute in the precision of X; single is at least twice as fast. Last, the
    estimator's own preprocessing is applied.
    """
    X = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32)
    )
    return estimator._prepared(X, learn=reset)


def in_pieces(estimator: Any, X: Any, n_rows: int) -> Iterator[Any]:
    """Checked inputs, at most `n_rows` at a time.

    An array is checked piece by piece too: one that is mapped from a file is never in
    memory as a whole, and one of another precision is never copied as a whole.
    """
    by_piece = isinstance(X, np.ndarray) and X.ndim == 2
    if not by_piece:
        X = to_inputs(estimator, X, reset=False)
    for start in range(0, max(X.shape[0], 1), n_rows):
        rows = X[start : start + n_rows]
        yield to_inputs(estimator, rows, reset=False) if by_piece else rows
        forget_pages(X)


def forget_pages(X: Any) -> None:
    """Let go of what was read of a file that an array maps; it can be read again.

    Otherwise the pages of the whole file would count as this process's memory. A map
    with changes of its own (mode "c") is left alone.
    """
    advice = getattr(mmap, "MADV_DONTNEED", None)
    while isinstance(X, np.ndarray) and getattr(X, "mode", None) != "c":
        X = X.base
    if isinstance(X, mmap.mmap) and advice is not None:
        X.madvise(advice)


def dense(X: Any, dtype: torch.dtype | None = None) -> Float[Tensor, "cases inputs"]:
    """Rows of inputs as a tensor."""
    rows = X.toarray() if sparse.issparse(X) else X
    return torch.from_numpy(np.require(rows, requirements=["C", "W"])).to(dtype)


def to_outputs(Y: Any) -> Outputs:
    """Encode labels: an indicator matrix, a frame of them, or one two-class column."""
    if Y is None:
        raise ValueError(
            "This classifier requires y to be passed, but the target y is None."
        )
    if sparse.issparse(Y):
        Y = Y.toarray()
    names = [str(name) for name in getattr(Y, "columns", [])]
    values = Y.to_numpy() if names else np.asarray(Y)
    if values.ndim == 1:
        return _one_column(values)
    if values.ndim != 2:
        raise ValueError(
            f"`Y` must be a column or a matrix of labels; got shape {values.shape}."
        )
    v = check_binary(values)
    labels = np.arange(v.shape[1])
    return Outputs(v, labels, names or [str(label) for label in labels], single=False)


def check_binary(values: Any) -> Float[Tensor, "cases labels"]:
    """A matrix of 0, 1 and NaN as a tensor, or the column that is not."""
    if sparse.issparse(values):
        values = values.toarray()
    try:
        values = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "Labels must be numbers 0 and 1, or NaN where unknown; got "
            f"{np.asarray(values).dtype}. Encode them, e.g. with MultiLabelBinarizer."
        ) from error
    good = (values == 0) | (values == 1) | np.isnan(values)
    if not good.all():
        column = int(np.flatnonzero(~good.all(0))[0])
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


def _one_column(values: np.ndarray) -> Outputs:
    if values.dtype.kind == "f":
        assert_all_finite(values, input_name="y")
    check_classification_targets(values)
    kind = type_of_target(values, input_name="y")
    if kind != "binary":
        raise ValueError(
            "Only binary classification is supported for a single column. The type of "
            f"the target is {kind}. Binarise it, e.g. with LabelBinarizer."
        )
    classes = np.unique(values)
    if len(classes) == 1:
        raise ValueError(
            "A single column needs two classes, but `Y` has only one class: "
            f"{classes.tolist()[0]!r}."
        )
    name = str(classes[-1])
    return Outputs(encode_column(values, classes), classes, [name], single=True)
