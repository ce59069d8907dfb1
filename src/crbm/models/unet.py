"""A small U-Net: maps of the size of an image from the image."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import interpolate, pad, relu

from crbm import checks

SMALL = 0.03  # factor of initial weights of outputs that begin near 0


class UNet(nn.Module):
    """A U-Net of residual blocks that computes at half the resolution or less.

    Squares of `patch` x `patch` pixels become channels first and pixels again at the
    end, so that no layer runs at the full resolution; the pixels of each square enter
    the last layer once more. Images of any size are padded to a multiple of `stride`
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
    precision
        The type of the numbers in the convolutions of training. Weights, and results
        in evaluation mode, are those of the parameters' type.

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
        precision: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        checks.whole_number("patch", patch, at_least=1)
        checks.whole_number("n_blocks", n_blocks, at_least=1)
        for n_channels in channels:
            checks.whole_number("channels", n_channels, at_least=1)
        self.patch, self.stride = patch, patch * 2 ** (len(channels) - 1)
        self.precision = precision
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
        n_last = channels[0] + n_inputs * patch**2
        self.out = nn.Conv2d(n_last, n_outputs * patch**2, 1)

    def forward(
        self, u: Float[Tensor, "batch inputs height width"]
    ) -> Float[Tensor, "batch outputs height width"]:
        is_low = self.training and self.precision != u.dtype
        with torch.autocast(u.device.type, self.precision, enabled=is_low):
            return self._maps(u).to(u.dtype)

    def _maps(self, u: Tensor) -> Tensor:
        height, width = u.shape[-2:]
        margins = (0, -width % self.stride, 0, -height % self.stride)
        padded = pad(u, margins, mode="replicate") if any(margins) else u
        squares = to_squares(padded, self.patch)
        levels = [self.first(squares)]
        for down in self.down:
            levels.append(down(to_squares(levels[-1], 2)))
        x = self.last(levels.pop())
        for up, block in zip(reversed(self.up), reversed(self.joined), strict=True):
            x = block(relu(levels.pop() + interpolate(up(x), scale_factor=2)))
        x = self.out(torch.cat([x, squares.to(x.dtype)], 1))
        return to_pixels(x, self.patch)[..., :height, :width]

    @torch.no_grad()
    def start(self, level: Float[Tensor, " first"], small: slice) -> None:
        """Begin with the first outputs near `level` and those of `small` near 0."""
        for parameter in (self.out.weight, self.out.bias):
            assert parameter is not None
            grouped = parameter.view(self.patch**2, -1, *parameter.shape[1:])
            grouped[:, small] *= SMALL
            if parameter.ndim == 1:
                grouped[:, : len(level)] = level


class Block(nn.Module):
    """Two convolutions whose result is added to their input; it starts as 0."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *convolution(n_channels, n_channels),
            nn.ReLU(inplace=True),
            *convolution(n_channels, n_channels),
        )
        nn.init.zeros_(self.layers[-1].weight)  # type: ignore[arg-type]

    def forward(
        self, x: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        changed: Tensor = relu(x + self.layers(x))
        return changed


def convolution(n_in: int, n_out: int, side: int = 3) -> list[nn.Module]:
    """A convolution and the batch normalisation of its result."""
    layer = nn.Conv2d(n_in, n_out, side, padding=side // 2, bias=False)
    return [layer, nn.BatchNorm2d(n_out)]


def to_squares(
    x: Float[Tensor, "batch channels height width"], side: int
) -> Float[Tensor, "batch more_channels rows columns"]:
    """Squares of pixels as channels, those of a pixel next to each other.

    The channels lie last in memory, where convolutions are fastest; that also makes
    the copy three times as fast as `torch.pixel_unshuffle`.
    """
    n_cases, n_channels, height, width = x.shape
    split = (n_cases, height // side, side, width // side, side, n_channels)
    squares = x.permute(0, 2, 3, 1).reshape(split).transpose(2, 3)
    return squares.reshape(*squares.shape[:3], -1).permute(0, 3, 1, 2)


def to_pixels(
    x: Float[Tensor, "batch channels rows columns"], side: int
) -> Float[Tensor, "batch fewer_channels height width"]:
    """The inverse of `to_squares`."""
    n_cases, n_channels, rows, columns = x.shape
    split = (n_cases, rows, columns, side, side, n_channels // side**2)
    pixels = x.permute(0, 2, 3, 1).reshape(split).transpose(2, 3)
    return pixels.reshape(n_cases, rows * side, columns * side, -1).permute(0, 3, 1, 2)
