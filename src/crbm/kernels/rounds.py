"""Rounds of belief propagation by the compiled loops of `messages`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from crbm import kernels

# Of what a coupling can multiply odds by. The loops hold odds for no less than e^-80,
# so a message that should vanish is at most e^-20 then.
STRONGEST = math.exp(60)


def serve(fields: Sequence[Tensor], couplings: Sequence[Tensor]) -> bool:
    """Whether the loops can exchange messages between such units of several cases."""
    tensors, growth = (*fields, *couplings), couplings[-1]
    return (
        all(field.ndim == 2 for field in fields)
        and len(fields[0]) * growth.numel() >= kernels.WORTH_CALLING
        and all(x.dtype == torch.float32 for x in tensors)
        and all(x.device.type == "cpu" for x in tensors)
        and not any(x.requires_grad for x in tensors)
        and kernels.compiled()
        and float(growth.max()) < STRONGEST
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
    """Rounds between all units, for tensors that `serve` was asked about.

    The log-odds of each unit, [i, j] what unit i told unit j, and how far the last
    round moved a belief. Couplings are the same in both directions.
    """
    n_cases, n_units = field.shape
    found = _empty((n_cases, n_units), (n_cases, n_units, n_units), (n_cases,))
    arrays = _arrays(field, *couplings)
    _messages().pairwise(*arrays, n_steps, np.float32(damping), *found)
    total, told, delta = map(torch.from_numpy, found)
    return total, told, delta


def bipartite(
    field: Float[Tensor, "batch visible"],
    hidden_field: Float[Tensor, "batch hidden"],
    couplings: Sequence[Float[Tensor, "visible hidden"]],
    n_steps: int,
    damping: float,
) -> tuple[Float[Tensor, "batch visible"], Float[Tensor, " batch"]]:
    """Rounds from visible to hidden units and back, the same way.

    The log-odds of each visible unit, and how far the last round moved a belief.
    """
    found = _empty(field.shape, (len(field),))
    arrays = _arrays(field, hidden_field, *couplings)
    _messages().bipartite(*arrays, n_steps, np.float32(damping), *found)
    total, delta = map(torch.from_numpy, found)
    return total, delta


def _arrays(*tensors: Tensor) -> list[np.ndarray]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


def _empty(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [np.empty(shape, dtype=np.float32) for shape in shapes]


@cache
def _messages() -> Any:
    from crbm.kernels import messages

    return messages
