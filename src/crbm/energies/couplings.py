"""Couplings: linear maps from visible to hidden units, with their transposes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import conv2d, conv_transpose2d
from torch.nn.grad import conv2d_weight

from crbm.kernels import products

Map = TypeVar("Map", bound="Coupling")


@dataclass(frozen=True)
class Coupling(ABC):
    """A linear map between the two layers of a bipartite energy.

    Parameters
    ----------
    weight
        The tensor that the map is linear in.
    """

    weight: Tensor

    @property
    def is_shared(self) -> bool:
        """Whether one map serves all cases."""
        return True

    @abstractmethod
    def up(
        self,
        v: Float[Tensor, "... visible"],
        bias: Float[Tensor, "... hidden"] | None = None,
    ) -> Float[Tensor, "... hidden"]:
        """The field of the hidden units: W^T v + bias."""

    @abstractmethod
    def down(
        self,
        h: Float[Tensor, "... hidden"],
        bias: Float[Tensor, "... visible"] | None = None,
    ) -> Float[Tensor, "... visible"]:
        """The field of the visible units: W h + bias, by the exact transpose."""

    @abstractmethod
    def product(
        self, v: Float[Tensor, "rows visible"], h: Float[Tensor, "rows hidden"]
    ) -> Tensor:
        """The gradient of the sum over rows of h . up(v) by `weight`."""

    def with_state_axis(self: Map) -> Map:
        """The map for several states per case in dimension -2."""
        return self

    def tempered(self: Map, beta: float) -> Map:
        """The map times `beta`."""
        return replace(self, weight=self.weight * beta)

    def in_precision(self: Map, dtype: torch.dtype) -> Map:
        """The map with its products in another precision."""
        return replace(self, weight=self.weight.to(dtype))

    def detach(self: Map) -> Map:
        """The map without its autograd history."""
        return replace(self, weight=self.weight.detach())


@dataclass(frozen=True)
class Dense(Coupling):
    """Every visible unit coupled to every hidden unit.

    Parameters
    ----------
    weight
        W, of shape (visible, hidden).
    """

    weight: Float[Tensor, "visible hidden"]

    def up(
        self,
        v: Float[Tensor, "... visible"],
        bias: Float[Tensor, "... hidden"] | None = None,
    ) -> Float[Tensor, "... hidden"]:
        return _affine(v, self.weight, bias)

    def down(
        self,
        h: Float[Tensor, "... hidden"],
        bias: Float[Tensor, "... visible"] | None = None,
    ) -> Float[Tensor, "... visible"]:
        return _affine(h, self.weight.T, bias)

    def product(
        self, v: Float[Tensor, "rows visible"], h: Float[Tensor, "rows hidden"]
    ) -> Float[Tensor, "visible hidden"]:
        total = torch.zeros_like(self.weight)
        products.add_product_(total, v, h, 1.0, shapes_recur=False)
        return total


@dataclass(frozen=True)
class Windowed(Coupling):
    """A coupling in which a hidden unit sees only a window of the visible units.

    Visible units that are far enough apart share no hidden unit. They form blocks whose
    units are independent given all others.
    """

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """The number of blocks."""

    @abstractmethod
    def in_block(self, block: int) -> Bool[Tensor, " positions"]:
        """Which positions belong to a block."""

    @abstractmethod
    def window_sums(
        self, x: Float[Tensor, "... positions"]
    ) -> Float[Tensor, "... positions"]:
        """The sum over all positions that are coupled to each position."""


@dataclass(frozen=True)
class PerCase(Coupling):
    """Every visible unit coupled to every hidden unit, by weights of each case's own.

    A network that computes the weights makes the couplings depend on the input.

    Parameters
    ----------
    weight
        W of each case, of shape (batch, visible, hidden).
    has_states
        Whether units have several states per case, (batch, states, units), or states
        that all cases share, (states, units). Otherwise the cases are in dimension -2.
    """

    weight: Float[Tensor, "batch visible hidden"]
    has_states: bool = False

    @property
    def is_shared(self) -> bool:
        return False

    def up(
        self,
        v: Float[Tensor, "... visible"],
        bias: Float[Tensor, "... hidden"] | None = None,
    ) -> Float[Tensor, "... hidden"]:
        return _add(self._times(v, self.weight), bias)

    def down(
        self,
        h: Float[Tensor, "... hidden"],
        bias: Float[Tensor, "... visible"] | None = None,
    ) -> Float[Tensor, "... visible"]:
        return _add(self._times(h, self.weight.mT), bias)

    def product(
        self, v: Float[Tensor, "rows visible"], h: Float[Tensor, "rows hidden"]
    ) -> Float[Tensor, "batch visible hidden"]:
        n_cases = len(self.weight)
        return v.unflatten(0, (n_cases, -1)).mT @ h.unflatten(0, (n_cases, -1))

    def with_state_axis(self) -> PerCase:
        return replace(self, has_states=True)

    def _times(self, x: Tensor, weight: Tensor) -> Tensor:
        if self.has_states:
            return (x.to(weight.dtype) @ weight).to(x.dtype)
        cases_first = x.movedim(-2, 0)  # (batch, ..., units)
        rows = cases_first.reshape(len(weight), -1, x.shape[-1]).to(weight.dtype)
        field = (rows @ weight).to(x.dtype)
        return field.reshape(*cases_first.shape[:-1], -1).movedim(0, -2)


@dataclass(frozen=True)
class Conv2d(Windowed):
    """The same small window of weights at every position of an image.

    Both layers are images of one size, flattened row by row with the channels of a
    position next to each other; the border is padded with zeros.

    Parameters
    ----------
    weight
        The window, of shape (hidden channels, visible channels, height, width), its
        height and width odd.
    size
        Height and width of the images.
    """

    weight: Float[Tensor, "h_channels v_channels height width"]
    size: tuple[int, int]

    def up(
        self,
        v: Float[Tensor, "... visible"],
        bias: Float[Tensor, "... hidden"] | None = None,
    ) -> Float[Tensor, "... hidden"]:
        image = self._image(v.to(self.weight.dtype))
        field = conv2d(image, self.weight, padding=self._padding)
        return _add(self._flat(field, v), bias)

    def down(
        self,
        h: Float[Tensor, "... hidden"],
        bias: Float[Tensor, "... visible"] | None = None,
    ) -> Float[Tensor, "... visible"]:
        image = self._image(h.to(self.weight.dtype))
        field = conv_transpose2d(image, self.weight, padding=self._padding)
        return _add(self._flat(field, h), bias)

    def product(
        self, v: Float[Tensor, "rows visible"], h: Float[Tensor, "rows hidden"]
    ) -> Float[Tensor, "h_channels v_channels height width"]:
        return conv2d_weight(
            self._image(v), self.weight.shape, self._image(h), padding=self._padding
        )

    @property
    def n_blocks(self) -> int:
        height, width = self.weight.shape[-2:]
        return height * width

    def in_block(self, block: int) -> Bool[Tensor, " positions"]:
        height, width = self.weight.shape[-2:]
        rows = torch.arange(self.size[0], device=self.weight.device) % height
        columns = torch.arange(self.size[1], device=self.weight.device) % width
        chosen = (rows == block // width)[:, None] & (columns == block % width)
        return chosen.flatten()

    def window_sums(
        self, x: Float[Tensor, "... positions"]
    ) -> Float[Tensor, "... positions"]:
        ones = x.new_ones(1, 1, *self.weight.shape[-2:])
        image = x.reshape(-1, 1, *self.size)
        return conv2d(image, ones, padding=self._padding).reshape(x.shape)

    @property
    def _padding(self) -> tuple[int, int]:
        height, width = self.weight.shape[-2:]
        return height // 2, width // 2

    def _image(self, flat: Tensor) -> Tensor:
        """(rows, channels, height, width) of flat states with any leading shape."""
        return flat.reshape(-1, *self.size, flat.shape[-1] // _area(self.size)).permute(
            0, 3, 1, 2
        )

    def _flat(self, image: Tensor, like: Tensor) -> Tensor:
        return image.permute(0, 2, 3, 1).reshape(*like.shape[:-1], -1).to(like.dtype)


def _area(size: tuple[int, int]) -> int:
    return max(1, size[0] * size[1])


def _affine(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """X W + b, in one call where the shapes allow it; the product as precise as W."""
    if weight.dtype != x.dtype:
        return _add((x.to(weight.dtype) @ weight).to(x.dtype), bias)
    if x.ndim == 2 and bias is not None and bias.ndim <= 2:
        return products.affine(x, weight, bias)
    return _add(x @ weight, bias)


def _add(x: Tensor, bias: Tensor | None) -> Tensor:
    return x if bias is None else x + bias
