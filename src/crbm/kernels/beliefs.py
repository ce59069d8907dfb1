"""Belief propagation by compiled kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from crbm.kernels.dispatch import MIN_SIZE, available, compiled_kernels

# Largest factor by which a coupling may multiply odds. The kernels cut odds off at
# e^-80, so with this limit a message that should be 0 is at most e^-20.
MAX_GROWTH = math.exp(60)


def supports(fields: Sequence[Tensor], couplings: Sequence[Tensor]) -> bool:
    """Whether `pairwise` or `bipartite` can be called with these tensors."""
    tensors, growth = (*fields, *couplings), couplings[-1]
    return (
        all(field.ndim == 2 for field in fields)
        and len(fields[0]) * growth.numel() >= MIN_SIZE
        and all(x.dtype == torch.float32 for x in tensors)
        and all(x.device.type == "cpu" for x in tensors)
        and not any(x.requires_grad for x in tensors)
        and available()
        and float(growth.max()) < MAX_GROWTH
    )


def pairwise(
    field: Float[Tensor, "batch units"],
    couplings: Sequence[Float[Tensor, "units units"]],
    n_steps: int,
    damping: float,
) -> tuple[
    Float[Tensor, "batch units"],
    Float[Tensor, "batch units units"],
    Float[Tensor, " batch"],
]:
    """Rounds of messages between all pairs of units.

    Returns the log-odds of each unit, the messages ([i, j] goes from unit i to unit j),
    and the largest change of a belief in the last round. The couplings must be
    symmetric. Only for tensors that `supports` accepts.
    """
    n_cases, n_units = field.shape
    results = _empty((n_cases, n_units), (n_cases, n_units, n_units), (n_cases,))
    arrays = _arrays(field, *couplings)
    compiled_kernels().pairwise(*arrays, n_steps, np.float32(damping), *results)
    total, messages, delta = map(torch.from_numpy, results)
    return total, messages, delta


def bipartite(
    field: Float[Tensor, "batch visible"],
    hidden_field: Float[Tensor, "batch hidden"],
    couplings: Sequence[Float[Tensor, "visible hidden"]],
    n_steps: int,
    damping: float,
) -> tuple[Float[Tensor, "batch visible"], Float[Tensor, " batch"]]:
    """Rounds of messages from visible to hidden units and back.

    Returns the log-odds of each visible unit, and the largest change of a belief in
    the last round. Only for tensors that `supports` accepts.
    """
    results = _empty(field.shape, (len(field),))
    arrays = _arrays(field, hidden_field, *couplings)
    compiled_kernels().bipartite(*arrays, n_steps, np.float32(damping), *results)
    total, delta = map(torch.from_numpy, results)
    return total, delta


def _arrays(*tensors: Tensor) -> list[np.ndarray]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


def _empty(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [np.empty(shape, dtype=np.float32) for shape in shapes]
