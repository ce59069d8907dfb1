"""Batches of images of similar sizes, encoded for a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad
from torch.utils.data import DataLoader

from crbm.estimators.pixels.arrays import UNKNOWN
from crbm.estimators.pixels.augmentation import Augment
from crbm.types import Batch


class Scaling(NamedTuple):
    """The mean and standard deviation of each channel, which inputs are scaled by."""

    mean: list[float]
    deviation: list[float]

    @classmethod
    def fit(cls, images: Sequence[np.ndarray]) -> Scaling:
        """The scaling of training images; constant channels keep their scale."""
        n_pixels = sum(image[..., 0].size for image in images)
        total = sum(image.sum((0, 1), dtype=np.float64) for image in images)
        mean = total / n_pixels
        square = sum(
            np.square(image - mean, dtype=np.float64).sum((0, 1)) for image in images
        )
        deviation = np.sqrt(square / n_pixels)
        deviation = np.where(deviation > 0, deviation, 1.0)
        return cls(mean.tolist(), deviation.tolist())

    def __call__(self, images: Tensor) -> Tensor:
        """Images (batch, channels, height, width) with mean 0 and deviation 1."""
        mean, deviation = (images.new_tensor(x)[:, None, None] for x in self)
        return (images - mean) / deviation


@dataclass(frozen=True)
class ImageBatches:
    """Training images as a `DataLoader` of batches.

    A batch has images of similar sizes. Smaller ones are padded with the values at
    their border; the labels of the padding are unknown.

    Parameters
    ----------
    images, masks
        Training images (height, width, channels) and masks (height, width).
    n_labels
        Number of labels.
    scaling
        Applied after `augment`.
    augment
        Changes each batch.
    batch_size
        Images per batch.
    """

    images: Sequence[np.ndarray]
    masks: Sequence[np.ndarray]
    n_labels: int
    scaling: Scaling
    augment: Augment | None
    batch_size: int

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, number: int) -> int:
        return number  # the whole batch is read in `_collate`

    @property
    def n_batches(self) -> int:
        """Batches of an epoch."""
        return -(-len(self) // self.batch_size)

    def loader(self) -> DataLoader[Any]:
        """Batches in random order, drawn from torch's global generator."""
        return DataLoader(
            self,  # type: ignore[arg-type]
            batch_sampler=_SimilarSizes(_sizes(self.images), self.batch_size),
            collate_fn=self._collate,
        )

    def _collate(self, numbers: list[int]) -> Batch:
        images = [self.images[number] for number in numbers]
        masks = [self.masks[number] for number in numbers]
        sizes = _sizes(images)
        height, width = sizes.max(0).tolist()
        if (sizes != sizes[0]).any():
            u = torch.stack([_padded(image, height, width) for image in images])
            labels = torch.stack([_padded_mask(mask, u) for mask in masks])
        else:
            u = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float()
            labels = torch.from_numpy(np.stack(masks))
        if self.augment is not None:
            u, labels = self.augment(u, labels, torch.default_generator)
        return Batch(self.scaling(u), encode_labels(labels, self.n_labels, u))


class _SimilarSizes:
    """Batches of image numbers in random order, of similar sizes where they differ."""

    def __init__(self, sizes: np.ndarray, batch_size: int) -> None:
        self.sizes, self.batch_size = torch.from_numpy(sizes), batch_size

    def __len__(self) -> int:
        return -(-len(self.sizes) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        order = torch.randperm(len(self.sizes))
        if (self.sizes != self.sizes[0]).any():
            # By width over height, then by area, both with noise: neighbours are alike,
            # and different ones in every epoch.
            log_sizes = self.sizes.double().log()
            noise = 0.1 * torch.rand(len(self.sizes), dtype=torch.float64)
            order = (log_sizes.sum(1) + noise).argsort()
        batches = list(order.split(self.batch_size))
        for place in torch.randperm(len(batches)).tolist():
            yield batches[place].tolist()


def _sizes(images: Sequence[np.ndarray]) -> np.ndarray:
    """Heights and widths."""
    return np.array([image.shape[:2] for image in images])


def to_tensor(image: np.ndarray) -> Tensor:
    """A (height, width, channels) array as a float32 (channels, height, width)."""
    return torch.from_numpy(np.ascontiguousarray(image, dtype=np.float32)).movedim(
        -1, 0
    )


def encode_labels(labels: Tensor, n_labels: int, like: Tensor) -> Tensor:
    """Labels as outputs of a model: 0 and 1, or one-hot images; NaN where unknown."""
    unknown = labels == UNKNOWN
    if n_labels == 2:
        return labels.to(like).masked_fill(unknown, torch.nan)
    hot = one_hot(labels.clamp(min=0), n_labels).movedim(-1, 1).to(like)
    return hot.masked_fill(unknown[:, None], torch.nan)


def _padded(image: np.ndarray, height: int, width: int) -> Tensor:
    u = to_tensor(image)
    margins = (0, width - u.shape[2], 0, height - u.shape[1])
    return pad(u[None], margins, mode="replicate")[0] if any(margins) else u


def _padded_mask(mask: np.ndarray, u: Tensor) -> Tensor:
    labels = torch.from_numpy(mask)
    margins = (0, u.shape[-1] - mask.shape[1], 0, u.shape[-2] - mask.shape[0])
    return pad(labels, margins, value=UNKNOWN) if any(margins) else labels
