"""Choosing between the compiled kernels and torch's own operations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch
from torch import Tensor

# Below this size Numba's call overhead exceeds the work.
MIN_SIZE = 2**10
# Up to this size starting a team of threads takes as long as the work; torch has the
# same limit.
MAX_ON_ONE_THREAD = 2**15
_ENABLED = ContextVar("enabled", default=True)


@contextmanager
def disabled() -> Iterator[None]:
    """Use torch's own operations within this block, as if Numba were not installed.

    Examples
    --------
    >>> with disabled():
    ...     supports(torch.zeros(64, 64))
    False
    """
    token = _ENABLED.set(False)
    try:
        yield
    finally:
        _ENABLED.reset(token)


def enabled() -> bool:
    """Whether this is not within `disabled()`."""
    return _ENABLED.get()


def available() -> bool:
    """Whether compiled kernels are installed and enabled."""
    return enabled() and compiled_kernels() is not None


def supports(x: Tensor) -> bool:
    """Whether compiled kernels can work in the memory of this tensor.

    They are for contiguous float32 tensors on the CPU that need no gradient and have
    at least `MIN_SIZE` elements.
    """
    return (
        x.dtype == torch.float32
        and x.device.type == "cpu"
        and not x.requires_grad
        and x.numel() >= MIN_SIZE
        and x.is_contiguous()
        and available()
    )


def n_threads(size: int) -> int:
    """How many threads a compiled kernel should use for this many elements.

    All those of torch or none: OpenMP ends threads that a smaller team does not need.
    """
    if size <= MAX_ON_ONE_THREAD or _FORKED or not compiled_kernels().HAS_THREADS:
        return 1
    return torch.get_num_threads()


def _note_fork() -> None:
    global _FORKED
    _FORKED = True


# OpenMP's threads do not exist in a forked process, which would wait for them forever.
_FORKED = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


@cache
def compiled_kernels() -> Any:
    """The package of compiled kernels, or None if Numba is missing or unusable.

    Numba raises when it does not support the installed NumPy, and when it has no
    writable folder for its cache. Its import takes most of a second, so it is
    postponed until the first use.
    """
    try:
        from crbm.kernels import compiled
    except (ImportError, RuntimeError):
        return None
    return compiled
