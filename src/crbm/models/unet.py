"""A small U-Net: maps of the size of an image from the image."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import interpolate, pad, pixel_shuffle, pixel_unshuffle, relu

from crbm import checks

SMALL = 0.03  # factor of initial weights of outputs that begin near 0


class UNet(nn.Module):
    """A U-Net of residual blocks that computes at half the resolution or less.

    Squares of `patch` x `patch` pixels become channels first and pixels again at the
    end, so that only one layer runs at the full resolution: a convolution of the image
    that is added to the result. Images of any size are padded to a multiple of `stride`
    with the values at their border.

    Parameters
    ----------
    n_inputs, n_outputs
        Channels of the image and of the result.
    channels
        Channels of each level; the resolution halves from one to the next.
    patch
        Side of the squares that become channels; 1 computes at the full resolution.
    n_blocks
        Residual blocks of the last level, where they are cheap. Finer levels have one
        each, after the coarser level has been added.

    Attributes
    ----------
    stride
        Pixels of the image per position of the last level.

    Examples
    --------
    >>> network = UNet(n_inputs=3, n_outputs=5, channels=(8, 16))
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
        checks.whole_number("patch", patch, at_least=1)
        checks.whole_number("n_blocks", n_blocks, at_least=1)
        for n_channels in channels:
            checks.whole_number("channels", n_channels, at_least=1)
        self.patch, self.stride = patch, patch * 2 ** (len(channels) - 1)
        self.first = nn.Sequential(
            *_convolution(n_inputs * patch**2, channels[0]), nn.ReLU(inplace=True)
        )
        self.down = nn.ModuleList(
            nn.Sequential(*_convolution(4 * fine, coarse, 1), nn.ReLU(inplace=True))
            for fine, coarse in pairwise(channels)
        )
        self.last = nn.Sequential(*(Block(channels[-1]) for _ in range(n_blocks)))
        self.up = nn.ModuleList(
            nn.Sequential(*_convolution(coarse, fine, 1))
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

    @torch.no_grad()
    def start(self, level: Float[Tensor, " first"], small: slice) -> None:
        """Begin with the first outputs near `level` and those of `small` near 0."""
        outputs = slice(0, len(level))
        for parameter in (self.out.weight, self.out.bias):
            assert parameter is not None
            grouped = parameter.view(-1, self.patch**2, *parameter.shape[1:])
            grouped[small] *= SMALL
            if parameter.ndim == 1:
                grouped[outputs] = level[:, None]
        self.skip.weight[small] *= SMALL


class Block(nn.Module):
    """Two convolutions whose result is added to their input; it starts as 0."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *_convolution(n_channels, n_channels),
            nn.ReLU(inplace=True),
            *_convolution(n_channels, n_channels),
        )
        nn.init.zeros_(self.layers[-1].weight)  # type: ignore[arg-type]

    def forward(
        self, x: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        changed: Tensor = relu(x + self.layers(x))
        return changed


def _convolution(n_in: int, n_out: int, side: int = 3) -> list[nn.Module]:
    convolution = nn.Conv2d(n_in, n_out, side, padding=side // 2, bias=False)
    return [convolution, nn.BatchNorm2d(n_out)]
