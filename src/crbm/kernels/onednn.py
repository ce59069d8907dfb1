"""Dense products by oneDNN, on processors on which it is faster than torch's own.

torch multiplies matrices by MKL. oneDNN, by which torch computes convolutions, takes
half the time on an AMD EPYC with AVX-512, which MKL probably does not use there.

torch offers these products through operators that `torch.compile` puts into its
programs; they have no public names. So they are used only if a trial gives the right
product. They differ from torch's own by rounding, and are the same for any number of
threads.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from crbm.kernels.dispatch import enabled

SWITCH = "CRBM_ONEDNN"  # an environment variable: 0 leaves all products to torch
PROCESSOR = Path("/proc/cpuinfo")


@contextmanager
def disabled() -> Iterator[None]:
    """Leave dense products to torch within this block, in child processes too.

    Then results of versions that knew no others repeat bit for bit.

    Examples
    --------
    >>> with disabled():
    ...     is_faster()
    False
    """
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "0"
    try:
        yield
    finally:
        os.environ.pop(SWITCH)
        if before is not None:
            os.environ[SWITCH] = before


def is_faster() -> bool:
    """Whether products by oneDNN are possible here, allowed, and faster."""
    return enabled() and os.environ.get(SWITCH) != "0" and _is_faster_here()


def supports(*tensors: Tensor) -> bool:
    """Whether products of these tensors can be left to oneDNN, and are faster there."""
    return (
        is_faster()
        and all(x.dtype == torch.float32 and x.device.type == "cpu" for x in tensors)
        and not (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))
    )


def affine(
    x: Float[Tensor, "rows inner"],
    weight: Float[Tensor, "inner outer"],
    bias: Float[Tensor, "*rows outer"],
) -> Float[Tensor, "rows outer"]:
    """X W + b."""
    if bias.ndim == 2 and (len(bias) == 1 or bias.stride(0) == 0):
        bias = bias[0]  # one for all rows
    if bias.ndim == 1:
        return _linear()(x, weight.T, bias, "none", [], "")
    return _linear().binary(x, bias, weight.T, None, "add")


def transposed_product(
    x: Float[Tensor, "rows inner"], y: Float[Tensor, "rows outer"]
) -> Float[Tensor, "inner outer"]:
    """X^T Y."""
    return _linear()(x.T, y.T, None, "none", [], "")


def _linear() -> Any:
    return torch.ops.mkldnn._linear_pointwise


@cache
def _is_faster_here() -> bool:
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or _is_intel():
        return False
    try:
        return _is_right()
    except (AttributeError, RuntimeError):  # this torch lacks the operators
        return False


def _is_intel() -> bool:
    """Whether the processor is Intel's."""
    if PROCESSOR.exists():
        return "GenuineIntel" in PROCESSOR.read_text()
    return "GenuineIntel" in platform.processor()


@torch.no_grad()
def _is_right() -> bool:
    """Whether a few products are those of torch."""
    x = torch.linspace(-9, 9, 24 * 33).sin().view(24, 33)
    weight = torch.linspace(-5, 5, 20 * 24).sin().view(20, 24).T
    table = torch.linspace(0, 1, 33 * 20).view(33, 20)
    exact = x.T @ weight
    pairs = [
        (affine(x.T, weight, table[0]), exact + table[0]),
        (affine(x.T, weight, table), exact + table),
        (transposed_product(x, weight), exact),
    ]
    return all(torch.allclose(found, known, atol=1e-4) for found, known in pairs)
