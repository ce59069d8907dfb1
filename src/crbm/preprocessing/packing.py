"""Dataclasses of plain data and arrays, as JSON and tensors that a file can hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_type_hints

import numpy as np
import torch
from torch import Tensor

Packed = tuple[dict[str, Any], dict[str, Tensor]]


def pack(value: Any) -> Packed:
    """The fields of a dataclass: plain ones, and arrays as tensors.

    Examples
    --------
    >>> from crbm.preprocessing.missing import MissingValues
    >>> plain, tensors = pack(MissingValues(np.ones(2), np.zeros(1, dtype=int)))
    >>> plain, sorted(tensors)
    ({}, ['marked', 'medians'])
    >>> unpack(MissingValues, plain, tensors).medians
    array([1., 1.])
    """
    plain: dict[str, Any] = {}
    tensors: dict[str, Tensor] = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if isinstance(item, np.ndarray):
            tensors[field.name] = torch.from_numpy(np.ascontiguousarray(item))
        elif dataclasses.is_dataclass(item):
            plain[field.name], inner = pack(item)
            tensors |= {f"{field.name}.{name}": t for name, t in inner.items()}
        else:
            plain[field.name] = item
    return plain, tensors


def unpack(cls: Any, plain: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Any:
    """The dataclass of this class whose `pack` this was."""
    hints = get_type_hints(cls)
    values = {}
    for field in dataclasses.fields(cls):
        kind = hints[field.name]
        if kind is np.ndarray:
            values[field.name] = tensors[field.name].numpy()
        elif dataclasses.is_dataclass(kind):
            inner = below(f"{field.name}.", tensors)
            values[field.name] = unpack(kind, plain[field.name], inner)
        else:
            values[field.name] = _check_type(field.name, plain[field.name], kind)
    return cls(**values)


def below(start: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names start with a prefix, by the rest of their names."""
    return {
        name.removeprefix(start): tensor
        for name, tensor in tensors.items()
        if name.startswith(start)
    }


def _check_type(name: str, value: Any, kind: Any) -> Any:
    """A plain value of the type that was declared: str, bool or a list of str."""
    is_list = kind == list[str]
    items = value if is_list and isinstance(value, list) else [value]
    if not all(isinstance(item, str if is_list else kind) for item in items):
        raise ValueError(f"`{name}` must be {kind}, not {value!r:.60}")
    return value
