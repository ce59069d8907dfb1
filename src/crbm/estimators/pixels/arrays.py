"""Images and masks of any sizes as lists of checked arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from crbm.hashing.arrays import from_torch

UNKNOWN = -1  # a pixel without a label, in masks inside this package
LARGEST = 1e30  # of a pixel; sums of larger ones overflow


class Collection(NamedTuple):
    """Images as (height, width, channels) arrays, and how they were given.

    Parameters
    ----------
    arrays
        One array per image.
    form
        "list", "stack" (one array of all images) or "single" (one image).
    """

    arrays: list[np.ndarray]
    form: str

    def like_input(self, results: Sequence[np.ndarray]) -> Any:
        """Results, one per image, in the form in which the images were given."""
        if self.form == "single":
            return results[0]
        return np.stack(results) if self.form == "stack" else list(results)


def to_images(
    images: Any, n_channels: int | None = None, masks: Any = None
) -> Collection:
    """Images as a list of (height, width, channels) arrays.

    Parameters
    ----------
    images
        A list of (height, width) or (height, width, channels) arrays of any sizes; an
        array of images of one size; or one image.
    n_channels
        Required number of channels; by default that of the first image.
    masks
        Masks of the images. One of (height, width) says that an array is one image.
    """
    given, form = _as_list(images, n_channels, masks)
    if not given:
        raise ValueError("`images` must hold at least one image; got none.")
    arrays = [_to_image(image, number) for number, image in enumerate(given)]
    wanted = arrays[0].shape[-1] if n_channels is None else n_channels
    for number, array in enumerate(arrays):
        if array.shape[-1] != wanted:
            raise ValueError(
                f"All images must have {wanted} channels; image {number} has the shape "
                f"{array.shape}. Convert it, e.g. to grey or to RGB."
            )
    return Collection(arrays, form)


def to_masks(
    masks: Any, images: Collection, ignore: int, *, name: str = "masks"
) -> list[np.ndarray]:
    """Masks of the images' sizes as int64 arrays, `UNKNOWN` at ignored pixels."""
    given = masks if isinstance(masks, Sequence) else np.asarray(from_torch(masks))
    if images.form == "single" and isinstance(given, np.ndarray) and given.ndim == 2:
        given = [given]
    if isinstance(given, np.ndarray) and given.ndim == 0:
        raise TypeError(
            f"`{name}` must hold one mask per image; got {type(masks).__name__}."
        )
    if len(given) != len(images.arrays):
        raise ValueError(
            f"`{name}` must hold one mask per image; got {len(given)} for "
            f"{len(images.arrays)} images."
        )
    return [
        _to_mask(mask, image, ignore, f"`{name}`, mask {number}")
        for number, (mask, image) in enumerate(zip(given, images.arrays, strict=True))
    ]


def count_labels(masks: Sequence[np.ndarray], n_labels: int | None) -> int:
    """The number of labels: that given, or one more than the largest in the masks."""
    seen = np.unique(np.concatenate([np.unique(mask) for mask in masks]))
    seen = seen[seen != UNKNOWN]
    if not len(seen):
        raise ValueError("`masks` hold no label: all pixels are ignored.")
    largest = int(seen[-1])
    if n_labels is not None:
        if largest >= n_labels:
            raise ValueError(
                f"`masks` must hold labels from 0 to {n_labels - 1}; got {largest}. "
                "Change `n_labels`, or pass `ignore` if it marks unlabelled pixels."
            )
        return n_labels
    gaps = np.flatnonzero(seen != np.arange(len(seen)))
    if len(gaps):
        raise ValueError(
            f"`masks` must hold labels 0, 1, ... without gaps; the largest is "
            f"{largest} and {gaps[0]} never occurs. Renumber them (e.g. "
            "`mask // 255`), pass `n_labels`, or pass `ignore` if a value marks "
            "unlabelled pixels."
        )
    return max(2, largest + 1)


def _as_list(images: Any, n_channels: int | None, masks: Any) -> tuple[list[Any], str]:
    if isinstance(images, Sequence) and not isinstance(images, str):
        return list(images), "list"
    array = np.asarray(from_torch(images))
    n_axes = getattr(masks, "ndim", None)  # 2: one mask; 3: a mask per image
    is_one = n_axes == 2 or (n_axes != 3 and _is_one_image(array, n_channels))
    if array.ndim == 2 or (array.ndim == 3 and is_one):
        return [array], "single"
    if array.ndim in (3, 4):
        return list(array), "stack"
    raise ValueError(
        "`images` must be a list of (height, width) or (height, width, channels) "
        f"arrays, or an array of them; got the shape {array.shape}."
    )


def _is_one_image(array: np.ndarray, n_channels: int | None) -> bool:
    """Whether a 3-D array is one colour image, not several grey ones."""
    if n_channels is None:
        return array.shape[-1] in (1, 3, 4)
    return array.shape[-1] == n_channels and (n_channels > 1 or array.shape[0] > 1)


def _to_image(image: Any, number: int) -> np.ndarray:
    array = np.asarray(from_torch(image))
    if array.ndim == 2:
        array = array[..., None]
    if array.ndim != 3 or 0 in array.shape:
        raise ValueError(
            f"An image must have the shape (height, width) or (height, width, "
            f"channels), none of them 0; image {number} has {array.shape}."
        )
    if array.dtype.kind not in "buif":
        raise TypeError(
            f"Images must hold numbers; image {number} holds {array.dtype}."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(
            f"Images must be finite; image {number} holds NaN or infinity. Replace "
            "such pixels first."
        )
    if array.dtype.kind == "f" and np.abs(array).max() > LARGEST:
        raise ValueError(
            f"Images must hold numbers between -{LARGEST:g} and {LARGEST:g}; image "
            f"{number} holds {array.flat[np.abs(array).argmax()]:.2g}. Scale it."
        )
    return array


def _to_mask(mask: Any, image: np.ndarray, ignore: int, what: str) -> np.ndarray:
    array = np.asarray(from_torch(mask))
    if array.shape != image.shape[:2]:
        raise ValueError(
            f"A mask must be as large as its image; {what} has the shape {array.shape} "
            f"for an image of {image.shape[:2]}."
        )
    if array.dtype.kind not in "buif":
        raise TypeError(f"Masks must hold whole numbers; {what} holds {array.dtype}.")
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), ignore, array)
        if (array != np.round(array)).any():
            value = array[array != np.round(array)][0]
            raise ValueError(f"Masks must hold whole numbers; {what} holds {value}.")
    labels = array.astype(np.int64)
    labels = np.where(labels == ignore, UNKNOWN, labels)
    if (labels < UNKNOWN).any() or (ignore != UNKNOWN and (array == UNKNOWN).any()):
        raise ValueError(
            f"Labels are numbered from 0; {what} holds {array.min()}. Pass "
            "`ignore` if it marks unlabelled pixels."
        )
    return labels
