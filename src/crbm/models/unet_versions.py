"""The built-in network and its earlier versions, whose weights files hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import interpolate, pad, pixel_shuffle, pixel_unshuffle, relu

from crbm.models.unet import Block, UNet, convolution

NEWEST = 3
SUPPORTED = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # of torch.cpu
PRECISIONS = ("auto", "float32", "bfloat16")


class UNetWithWindow(nn.Module):
    """Version 2: a convolution of the image is added at the full resolution.

    Parameters are those of `UNet`.

    Examples
    --------
    >>> network = UNetWithWindow(n_inputs=3, n_outputs=5, channels=(8, 16))
    >>> network(torch.zeros(2, 3, 10, 7)).shape
    torch.Size([2, 5, 10, 7])
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        channels: Sequence[int] = (32, 64),
        patch: int = 2,
        n_blocks: int = 2,
    ) -> None:
        super().__init__()
        self.patch, self.stride = patch, patch * 2 ** (len(channels) - 1)
        self.first = nn.Sequential(
            *convolution(n_inputs * patch**2, channels[0]), nn.ReLU(inplace=True)
        )
        self.down = nn.ModuleList(
            nn.Sequential(*convolution(4 * fine, coarse, 1), nn.ReLU(inplace=True))
            for fine, coarse in pairwise(channels)
        )
        self.last = nn.Sequential(*(Block(channels[-1]) for _ in range(n_blocks)))
        self.up = nn.ModuleList(
            nn.Sequential(*convolution(coarse, fine, 1))
            for fine, coarse in pairwise(channels)
        )
        self.joined = nn.ModuleList(Block(fine) for fine in channels[:-1])
        self.out = nn.Conv2d(channels[0], n_outputs * patch**2, 1)
        self.skip = nn.Conv2d(n_inputs, n_outputs, 3, padding=1, bias=False)

    def forward(
        self, u: Float[Tensor, "batch inputs height width"]
    ) -> Float[Tensor, "batch outputs height width"]:
        height, width = u.shape[-2:]
        margins = (0, -width % self.stride, 0, -height % self.stride)
        x = pad(u, margins, mode="replicate") if any(margins) else u
        x = pixel_unshuffle(x, self.patch).contiguous(memory_format=torch.channels_last)
        levels = [self.first(x)]
        for down in self.down:
            levels.append(down(pixel_unshuffle(levels[-1], 2)))
        x = self.last(levels.pop())
        for up, block in zip(reversed(self.up), reversed(self.joined), strict=True):
            x = block(relu(levels.pop() + interpolate(up(x), scale_factor=2)))
        maps = pixel_shuffle(self.out(x), self.patch)[..., :height, :width]
        return maps + self.skip(u)


VERSIONS = {2: UNetWithWindow, NEWEST: UNet}


def make(
    version: int,
    n_inputs: int,
    n_outputs: int,
    channels: Sequence[int],
    patch: int,
    *,
    precision: str = "auto",
) -> nn.Module:
    """A network of a version; `precision` is one of `PRECISIONS`."""
    network: nn.Module = VERSIONS[version](n_inputs, n_outputs, channels, patch)
    if isinstance(network, UNet):
        network.precision = _dtype(precision)
    return network


def _dtype(precision: str) -> torch.dtype:
    """The type of numbers of a precision; "auto" depends on the processor."""
    if precision == "auto":
        asked = (getattr(torch.cpu, name, None) for name in SUPPORTED)
        is_fast = any(is_supported() for is_supported in asked if is_supported)
        precision = "bfloat16" if is_fast else "float32"
    chosen: torch.dtype = getattr(torch, precision)
    return chosen
