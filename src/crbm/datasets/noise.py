"""The paper's denoising tasks: binary images with one of two kinds of noise.

Section 6.2 and Table 2 of the paper.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Generator, Tensor

from crbm.datasets.dataset import Array, Dataset


def flip_pixels(
    V: Tensor, rate: float = 0.1, generator: Generator | None = None
) -> Tensor:
    """A copy of the images with each pixel flipped with probability `rate`.

    Parameters
    ----------
    V
        Binary pixels, of any shape and dtype.
    rate
        Probability of a flip.
    generator
        Source of randomness; torch's global one by default.

    Examples
    --------
    >>> flip_pixels(torch.tensor([0, 1, 1]), rate=1.0)
    tensor([1, 0, 0])
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"`rate` must be a probability between 0 and 1, not {rate}.")
    flips = torch.empty(V.shape, dtype=torch.bool, device=V.device)
    flips.bernoulli_(rate, generator=generator)
    return ((V != 0) ^ flips).to(V.dtype)


def occlude(
    V: Tensor,
    size: int = 8,
    generator: Generator | None = None,
    shape: tuple[int, int] = (28, 28),
) -> Tensor:
    """A copy of the images with one square patch of each set to 0.

    The position of the patch is uniform over those inside the image.

    Parameters
    ----------
    V
        Images as rows (n_images, height * width).
    size
        Side of the patch in pixels.
    generator
        Source of randomness; torch's global one by default.
    shape
        Height and width of an image.

    Examples
    --------
    >>> images = torch.ones(1, 6)
    >>> occlude(images, size=2, shape=(2, 3), generator=Generator().manual_seed(0))
    tensor([[1., 0., 0., 1., 0., 0.]])
    """
    height, width = shape
    if V.ndim != 2 or V.shape[1] != height * width:
        raise ValueError(
            f"`V` must have one image of {height} x {width} per row; its shape is "
            f"{tuple(V.shape)}. Pass `shape`."
        )
    if not 0 <= size <= min(shape):
        raise ValueError(f"A patch of `size` {size} does not fit into {shape}.")
    rows = _span(V, height, size, generator)
    columns = _span(V, width, size, generator)
    patch = rows[:, :, None] & columns[:, None, :]
    return V.masked_fill(patch.flatten(1), 0)


def _span(V: Tensor, length: int, size: int, generator: Generator | None) -> Tensor:
    """For each image, a mask of `size` consecutive positions out of `length`."""
    n_starts = length - size + 1
    start = torch.randint(n_starts, (len(V), 1), device=V.device, generator=generator)
    positions = torch.arange(length, device=V.device)
    return (positions >= start) & (positions < start + size)


def denoising(
    digits: Dataset, kind: str, *, seed: int = 0, rate: float = 0.1, size: int = 8
) -> Dataset:
    """A data set with noisy images as inputs and clean ones as outputs (Table 2).

    Parameters
    ----------
    digits
        Images of bytes, such as ``load("mnist")`` or ``load("mnist-5k")``. They are
        binarised first.
    kind
        ``"corrupted"``: pixels flipped with probability `rate`; ``"occluded"``: a
        patch of side `size` set to 0.
    seed
        Seed of the noise.
    rate, size
        Probability of a flip; side of the patch.
    """
    clean = binarise(digits.X)
    V, generator = torch.from_numpy(clean), torch.Generator().manual_seed(seed)
    if kind == "corrupted":
        noisy = flip_pixels(V, rate, generator)
    elif kind == "occluded":
        height, width = digits.input_shape or (28, 28)
        noisy = occlude(V, size, generator, (height, width))
    else:
        raise ValueError(f"`kind` must be `corrupted` or `occluded`, not `{kind}`.")
    return replace(
        digits,
        X=noisy.numpy(),
        Y=clean,
        label_names=(),
        output_shape=digits.input_shape,
    )


def binarise(images: Array, threshold: int = 127) -> Array:
    """Images of 0 and 1: 1 where a pixel is above `threshold`, as in the paper.

    Examples
    --------
    >>> binarise(np.array([0, 127, 128, 255], dtype=np.uint8)).tolist()
    [0, 0, 1, 1]
    """
    return (images > threshold).astype(np.uint8)
