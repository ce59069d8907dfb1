"""Checks at the doors: each message says what was needed, what came, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real

import torch
from torch import Tensor

ROWS_AT_ONCE = 256


def whole_number(name: str, value: object, *, at_least: int) -> None:
    """Refuse anything but an int of at least `at_least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(
            f"`{name}` must be a whole number; got {type(value).__name__} {value!r}."
        )
    if value < at_least:
        raise ValueError(f"`{name}` must be at least {at_least}; got {value}.")


def number(name: str, value: object) -> float:
    """The value, once it is a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(
            f"`{name}` must be a number; got {type(value).__name__} {value!r}."
        )
    return float(value)


def positive(name: str, value: object) -> None:
    """Refuse anything but a number above 0."""
    if not number(name, value) > 0:
        raise ValueError(f"`{name}` must be positive; got {value}.")


def not_negative(name: str, value: object) -> None:
    """Refuse anything but a number from 0 on."""
    if not number(name, value) >= 0:
        raise ValueError(f"`{name}` must not be negative; got {value}.")


def unit_interval(name: str, value: object, *, open_end: bool = False) -> None:
    """Refuse a number outside [0, 1], or [0, 1) with `open_end`."""
    value = number(name, value)
    if not 0 <= value <= 1 or (open_end and value == 1):
        end = ")" if open_end else "]"
        raise ValueError(f"`{name}` must lie in [0, 1{end}; got {value}.")


def columns(name: str, tensor: Tensor, n_columns: int, unit: str) -> None:
    """Refuse a tensor whose last dimension is not `n_columns`."""
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
    """Refuse a tensor on another device or of another dtype than the model."""
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
    """Refuse NaN and infinity, naming the first place."""
    if tensor.sum().isfinite():  # one pass; a sum may overflow, so ask again below
        return
    good = torch.isfinite(tensor)
    if not good.all():
        row, column = first_place(~good)
        raise ValueError(
            f"`{name}` must be finite; row {row}, column {column} holds "
            f"{tensor.reshape(-1, tensor.shape[-1])[row, column].item()}. "
            "Impute or drop such rows first."
        )


def binary(name: str, tensor: Tensor, *, missing: bool = False) -> None:
    """Refuse values other than 0 and 1 (and NaN, where a label may be missing)."""
    if all(_no_number_but_0_and_1(rows) for rows in tensor.split(ROWS_AT_ONCE)):
        return
    good = tensor == tensor.bool()
    if missing:
        good |= tensor.isnan()
    if not good.all():
        row, column = first_place(~good)
        value = tensor.reshape(-1, tensor.shape[-1])[row, column].item()
        allowed = "0, 1 or NaN (unknown)" if missing else "0 or 1"
        raise ValueError(
            f"`{name}` must hold {allowed}; row {row}, column {column} holds {value}. "
            "Binarise it first, e.g. (v > 0.5)."
        )


def _no_number_but_0_and_1(x: Tensor) -> bool:
    """X - x^2 is zero for these alone: one pass over memory that stays in the cache."""
    return not torch.addcmul(x, x, x, value=-1).abs_().sum()


def within_unit(name: str, tensor: Tensor) -> None:
    """Refuse outputs that are neither binary nor mean values of binary units."""
    if not ((tensor >= 0) & (tensor <= 1)).all():
        bad = first_place(~((tensor >= 0) & (tensor <= 1)))
        value = tensor.reshape(-1, tensor.shape[-1])[bad].item()
        raise ValueError(
            f"`{name}` must hold binary values, or means of them in [0, 1]; "
            f"row {bad[0]}, column {bad[1]} holds {value}. Binarise it first."
        )


def same_length(**tensors: Tensor | None) -> None:
    """Refuse tensors with different numbers of rows."""
    lengths = {name: len(t) for name, t in tensors.items() if t is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"`{name}` has {n}" for name, n in lengths.items())
        raise ValueError(f"All must have one row per case, but {listed}.")


def one_of(name: str, value: object, choices: Iterable[object]) -> None:
    """Refuse a value that is not among the choices."""
    choices = tuple(choices)
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"`{name}` must be one of {listed}; got {value!r}.")


def first_place(bad: Tensor) -> tuple[int, int]:
    """Row and column of the first true value."""
    flat = bad.reshape(-1, bad.shape[-1]).nonzero()[0]
    return int(flat[0]), int(flat[1])
