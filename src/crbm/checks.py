"""Checks of arguments that users pass.

Each message says what is required, what was passed, and how to correct it.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real

import numpy as np
import torch
from torch import Tensor

ROWS_AT_ONCE = 256  # few enough to stay in the cache


def whole_number(name: str, value: object, *, at_least: int) -> None:
    """Require an integer of at least `at_least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(
            f"`{name}` must be a whole number; got {type(value).__name__} {value!r}."
        )
    if value < at_least:
        raise ValueError(f"`{name}` must be at least {at_least}; got {value}.")


def number(name: str, value: object) -> float:
    """The value as a float; raises if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(
            f"`{name}` must be a number; got {type(value).__name__} {value!r}."
        )
    return float(value)


def positive(name: str, value: object) -> None:
    """Require a number above 0."""
    if not number(name, value) > 0:
        raise ValueError(f"`{name}` must be positive; got {value}.")


def not_negative(name: str, value: object) -> None:
    """Require a number of at least 0."""
    if not number(name, value) >= 0:
        raise ValueError(f"`{name}` must not be negative; got {value}.")


def unit_interval(name: str, value: object, *, open_end: bool = False) -> None:
    """Require a number in [0, 1], or in [0, 1) with `open_end`."""
    value = number(name, value)
    if not 0 <= value <= 1 or (open_end and value == 1):
        end = ")" if open_end else "]"
        raise ValueError(f"`{name}` must lie in [0, 1{end}; got {value}.")


def columns(name: str, tensor: Tensor, n_columns: int, unit: str) -> None:
    """Require a tensor with `n_columns` columns (its last dimension)."""
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"`{name}` must be a torch tensor; got {type(tensor).__name__}. "
            f"Convert it with torch.as_tensor({name}, dtype=torch.float32)."
        )
    if tensor.ndim == 0 or tensor.shape[-1] != n_columns:
        raise ValueError(
            f"`{name}` must have {n_columns} columns, one per {unit}; "
            f"got shape {tuple(tensor.shape)}."
        )


def same_kind(name: str, tensor: Tensor, parameter: Tensor) -> None:
    """Require the device and dtype of a parameter of the model."""
    if tensor.device != parameter.device:
        raise ValueError(
            f"`{name}` is on {tensor.device} but the model is on {parameter.device}; "
            f"move one of them, e.g. {name}.to('{parameter.device}')."
        )
    if tensor.dtype != parameter.dtype:
        raise ValueError(
            f"`{name}` is {tensor.dtype} but the model is {parameter.dtype}; "
            f"convert one of them, e.g. {name}.to({parameter.dtype})."
        )


def finite(name: str, tensor: Tensor) -> None:
    """Require finite numbers."""
    if tensor.sum().isfinite():  # one pass; the sum may overflow, hence the test below
        return
    good = torch.isfinite(tensor)
    if not good.all():
        row, column = first_place(~good)
        raise ValueError(
            f"`{name}` must be finite; row {row}, column {column} holds "
            f"{tensor.reshape(-1, tensor.shape[-1])[row, column].item()}. "
            "Impute or drop such rows first."
        )


def not_overflowed(result: Tensor, u: Tensor) -> Tensor:
    """The numbers computed from inputs `u`; raises for NaN, which overflow leaves.

    Examples
    --------
    >>> not_overflowed(torch.tensor([0.5]), torch.tensor([3.0]))
    tensor([0.5000])
    """
    if result.isnan().any():
        raise ValueError(
            f"Inputs as large as {u.abs().max():.2g} overflow in this model. Scale "
            "them, e.g. with `preprocessing='standardise'`."
        )
    return result


def binary(name: str, tensor: Tensor, *, missing: bool = False) -> None:
    """Require 0 and 1, and allow NaN with `missing`."""
    rows = tensor.reshape(-1, max(1, tensor.shape[-1]))
    place = first_not_binary(rows, missing=missing)
    if place is not None:
        allowed = "0, 1 or NaN (unknown)" if missing else "0 or 1"
        raise ValueError(
            f"`{name}` must hold {allowed}; row {place[0]}, column {place[1]} holds "
            f"{rows[place].item()}. Binarise it first, e.g. (v > 0.5)."
        )


def first_not_binary(
    values: Tensor | np.ndarray, *, missing: bool = False
) -> tuple[int, ...] | None:
    """The index of the first value other than 0 and 1, or None if there is none.

    The order is by rows. With `missing`, NaN is allowed too.

    Examples
    --------
    >>> first_not_binary(np.array([[0, 1], [1, 2]]))
    (1, 1)
    >>> first_not_binary(torch.tensor([0, 1, torch.nan]), missing=True) is None
    True
    """
    if _is_binary(values):
        return None
    bad = (values != 0) & (values != 1)
    if missing:
        bad &= values == values  # NaN differs from itself
    if not bad.any():
        return None
    return tuple(torch.as_tensor(bad).nonzero()[0].tolist())


def _is_binary(x: Tensor | np.ndarray) -> bool:
    """Whether all values are 0 or 1, without a copy; False where that is not quick."""
    if isinstance(x, np.ndarray):
        whole = x.dtype.kind in "bui"
        return whole and (not x.size or bool(x.min() >= 0 and x.max() <= 1))
    return x.is_floating_point() and all(
        _only_0_and_1(rows) for rows in x.split(ROWS_AT_ONCE)
    )


def _only_0_and_1(x: Tensor) -> bool:
    """Whether all values are 0 or 1 (x - x^2 is zero only there)."""
    return not torch.addcmul(x, x, x, value=-1).abs_().sum()


def within_unit(name: str, tensor: Tensor) -> None:
    """Require numbers in [0, 1]: binary values or means of binary units."""
    if not ((tensor >= 0) & (tensor <= 1)).all():
        bad = first_place(~((tensor >= 0) & (tensor <= 1)))
        value = tensor.reshape(-1, tensor.shape[-1])[bad].item()
        raise ValueError(
            f"`{name}` must hold binary values, or means of them in [0, 1]; "
            f"row {bad[0]}, column {bad[1]} holds {value}. Binarise it first."
        )


def same_length(**tensors: Tensor | None) -> None:
    """Require the same number of rows in all tensors."""
    lengths = {name: len(t) for name, t in tensors.items() if t is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"`{name}` has {n}" for name, n in lengths.items())
        raise ValueError(f"All must have one row per case, but {listed}.")


def one_of(name: str, value: object, choices: Iterable[object]) -> None:
    """Require a value that is among the choices."""
    choices = tuple(choices)
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"`{name}` must be one of {listed}; got {value!r}.")


def first_place(bad: Tensor) -> tuple[int, int]:
    """Row and column of the first true value."""
    flat = bad.reshape(-1, bad.shape[-1]).nonzero()[0]
    return int(flat[0]), int(flat[1])
