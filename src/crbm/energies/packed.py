"""Dense couplings of a trained model that answers many small requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from crbm.energies.couplings import Dense
from crbm.kernels import packing


@dataclass(frozen=True)
class PackedDense(Dense):
    """Dense couplings with copies of W that are multiplied faster.

    They are as large as W, one per direction, and do not follow changes of W.

    Parameters
    ----------
    packed_up, packed_down
        The copies, see `kernels.packing`.
    """

    packed_up: Tensor
    packed_down: Tensor

    def up(
        self,
        v: Float[Tensor, "... visible"],
        bias: Float[Tensor, "... hidden"] | None = None,
    ) -> Float[Tensor, "... hidden"]:
        if bias is not None and packing.supports(v, self.packed_up, bias):
            return packing.affine(v, self.packed_up, bias)
        return super().up(v, bias)

    def down(
        self,
        h: Float[Tensor, "... hidden"],
        bias: Float[Tensor, "... visible"] | None = None,
    ) -> Float[Tensor, "... visible"]:
        if bias is not None and packing.supports(h, self.packed_down, bias):
            return packing.affine(h, self.packed_down, bias)
        return super().down(h, bias)

    def tempered(self, beta: float) -> Dense:  # type: ignore[override]
        return Dense(self.weight).tempered(beta)

    def in_precision(self, dtype: torch.dtype) -> Dense:  # type: ignore[override]
        return Dense(self.weight).in_precision(dtype)

    def detach(self) -> Dense:  # type: ignore[override]
        return Dense(self.weight).detach()

    def __reduce__(self) -> tuple[Callable[..., Dense], tuple[Any, ...]]:
        return pack_dense, (
            self.weight,
        )  # packed tensors can be neither copied nor stored


def pack_dense(weight: Float[Tensor, "visible hidden"]) -> Dense:
    """Dense couplings that are packed where that is faster.

    Examples
    --------
    >>> type(pack_dense(torch.zeros(784, 256))).__name__ in ("Dense", "PackedDense")
    True
    """
    up, down = packing.pack(weight), packing.pack(weight.T)
    if up is None or down is None:
        return Dense(weight)
    return PackedDense(weight, up, down)
