"""Random changes of images that leave their labels right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Generator, Tensor
from torch.nn.functional import affine_grid, grid_sample

from crbm import checks

Images = Float[Tensor, "batch channels height width"]
Masks = Int64[Tensor, "batch height width"]
Augment = Callable[[Images, Masks, Generator | None], tuple[Images, Masks]]

KINDS = ("flip", "shift", "scale", "rotate", "colour")
MAX_SHIFT, MAX_SCALE, MAX_DEGREES = 0.1, 0.15, 10.0  # shift as a share of the side
MAX_CONTRAST, MAX_BRIGHTNESS = 0.2, 0.2  # brightness in standard deviations


def choose(augment: Any) -> Augment | None:
    """The function for the parameter `augment` of `PixelClassifier`."""
    if augment is None or augment is False:
        return None
    if callable(augment):
        return augment
    kinds = KINDS if augment is True else augment
    if isinstance(kinds, str) or not isinstance(kinds, Sequence):
        raise TypeError(
            "`augment` must be True, False, names of changes such as ('flip', 'shift') "
            f"or a function; got {augment!r}."
        )
    for kind in kinds:
        checks.one_of("augment", kind, KINDS)
    return Changes(tuple(kinds))


def flips(augment: Any) -> bool:
    """Whether the changes of `augment` include mirror images."""
    chosen = choose(augment)
    return isinstance(chosen, Changes) and "flip" in chosen.kinds


class Changes:
    """The named changes, each drawn anew for every image.

    Parameters
    ----------
    kinds
        Any of "flip" (left to right, half of the images), "shift" (up to a tenth of
        the side), "scale" (15 %), "rotate" (10 degrees) and "colour" (contrast and
        brightness of each channel, 20 %).

    Examples
    --------
    >>> images, masks = torch.zeros(2, 3, 8, 8), torch.zeros(2, 8, 8, dtype=torch.int64)
    >>> new_images, new_masks = Changes(("flip", "colour"))(images, masks, None)
    >>> new_images.shape, new_masks.shape
    (torch.Size([2, 3, 8, 8]), torch.Size([2, 8, 8]))
    """

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds

    def __call__(
        self, images: Images, masks: Masks, generator: Generator | None
    ) -> tuple[Images, Masks]:
        if set(self.kinds) & {"flip", "shift", "scale", "rotate"}:
            images, masks = _warp(images, masks, self._maps(images, generator))
        if "colour" in self.kinds:
            images = self._recolour(images, generator)
        return images, masks

    def _maps(self, images: Images, generator: Generator | None) -> Tensor:
        """The affine map of each image, from new positions to old ones."""
        n_images, (height, width) = len(images), images.shape[-2:]

        def draw(kind: str, largest: float, *shape: int) -> Tensor:
            drawn = torch.rand((n_images, *shape), generator=generator) * 2 - 1
            return drawn * largest if kind in self.kinds else torch.zeros_like(drawn)

        angle = draw("rotate", math.radians(MAX_DEGREES))
        size = torch.exp(draw("scale", math.log1p(MAX_SCALE)))
        mirror = torch.where(draw("flip", 1.0) < 0, -1.0, 1.0)
        cos, sin, aspect = angle.cos() * size, angle.sin() * size, height / width
        rows = torch.stack(
            [cos * mirror, -sin * aspect, sin / aspect * mirror, cos], -1
        ).reshape(-1, 2, 2)
        shift = 2 * draw("shift", MAX_SHIFT, 2)
        return torch.cat([rows, shift[..., None]], -1).to(images)

    def _recolour(self, images: Images, generator: Generator | None) -> Images:
        shape = (*images.shape[:2], 1, 1)

        def draw() -> Tensor:
            return torch.rand(shape, generator=generator).to(images) * 2 - 1

        mean = images.mean((-2, -1), keepdim=True)
        brightness = images.std().nan_to_num() * MAX_BRIGHTNESS * draw()
        return (images - mean) * (1 + MAX_CONTRAST * draw()) + mean + brightness


def _warp(images: Images, masks: Masks, maps: Tensor) -> tuple[Images, Masks]:
    """Images (bilinear) and masks (nearest) at the same new positions."""
    grid = affine_grid(maps, list(images.shape), align_corners=False)
    options: dict[str, Any] = {"padding_mode": "reflection", "align_corners": False}
    moved = grid_sample(images, grid, mode="bilinear", **options)
    labels = grid_sample(masks[:, None].to(images), grid, mode="nearest", **options)
    return moved, labels[:, 0].round().long()
