"""Image data sets with their training and test parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from crbm import datasets
from crbm.types import Batch
from paper.tables.denoising import load_digits

SIDE = 28  # pixels of a digit


class Part(NamedTuple):
    """Images, their masks, and what is known of the masks from the start."""

    images: Any
    masks: Any
    known: Any = None

    def first(self, n_images: int | None) -> Part:
        """The first `n_images` with their masks; all of them by default."""
        if n_images is None:
            return self
        known = None if self.known is None else self.known[:n_images]
        return Part(self.images[:n_images], self.masks[:n_images], known)


class Task(NamedTuple):
    """Training and test images, and how the training images are changed."""

    train: Part
    test: Part
    augment: Any = True


def load_noisy(kind: str, fold: int | None, quick: bool) -> Task:
    """Digits with noise; the training digits get new noise in every batch."""
    digits = load_digits(kind, quick=quick)

    def add_noise(
        images: Tensor, masks: Tensor, generator: Generator | None
    ) -> tuple[Tensor, Tensor]:
        clean = masks.flatten(1).to(images)
        noisy = digits.noise(Batch(clean, clean), generator).u
        assert noisy is not None
        return noisy.view_as(images), masks

    train, test = (
        Part(_bytes(part.u), _bytes(part.v)) for part in (digits.train, digits.test)
    )
    return Task(train, test, add_noise)


def load_horses(fold: int | None, quick: bool, *, name: str = "horses") -> Task:
    """200 horses to learn from and the others, 128 of 328, to test on."""
    data = datasets.load(name)
    pictures = datasets.as_images(data) if name == "horses" else data
    order = np.random.default_rng(fold).permutation(len(pictures))
    train, test = order[:200], order[200:]
    if quick:
        train, test = train[:24], test[:16]
    return Task(_select(pictures, train), _select(pictures, test))


def load_camvid(fold: int | None, quick: bool) -> Task:
    """367 street scenes to learn from and 233 to test on."""
    data = datasets.load("camvid")
    few = slice(16 if quick else None)
    return Task(*(_select(data, data.splits[p][few]) for p in ("train", "test")))


def _bytes(flat: Tensor | None) -> np.ndarray:
    assert flat is not None
    return flat.to(torch.uint8).reshape(-1, SIDE, SIDE).numpy()


def _select(data: Any, rows: np.ndarray) -> Part:
    return Part([data.images[row] for row in rows], [data.masks[row] for row in rows])
