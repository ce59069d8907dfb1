"""Measures of predicted images and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from crbm import checks
from crbm.metrics.arrays import array, pair
from crbm.metrics.sets import hamming_error

AVERAGES = ("image", "pixels", "class")


def all_error(clean: Any, predicted: Any) -> float:
    """Share of wrong pixels, the column All of Table 2 of the paper."""
    return hamming_error(clean, predicted)


def changed_error(clean: Any, predicted: Any, noisy: Any) -> float:
    """Share of wrong pixels among those that the noise changed.

    The column Changed of Table 2 of the paper. NaN if the noise changed none.

    Examples
    --------
    >>> changed_error(clean=[[1, 1, 0]], predicted=[[1, 0, 0]], noisy=[[1, 0, 1]])
    0.5
    """
    clean, predicted = pair(clean, predicted)
    changed = clean != array(noisy)
    return float((clean != predicted)[changed].mean()) if changed.any() else np.nan


def iou(
    truth: Any,
    predicted: Any,
    average: str = "image",
    *,
    ignore: int | None = None,
    classes: Sequence[int] | None = None,
) -> float:
    """Intersection over union of masks.

    Parameters
    ----------
    truth, predicted
        One mask (height, width), an array of masks (images, height, width), or a list
        of masks of any sizes. Pixels hold whole numbers; NaN in the truth is unknown
        and left out.
    average
        "image": the mean over images of each image's IoU, itself the mean over the
        classes that occur in the image or its prediction. "pixels": intersections and
        unions are summed over images and classes, then divided. "class": they are
        summed over images, divided, and averaged over the classes that occur (the mean
        IoU of semantic segmentation).
    ignore
        Pixels with this value in the truth are left out, e.g. 255.
    classes
        The classes that count. By default 1 alone (the foreground) where masks hold
        only 0 and 1, and otherwise all values that occur.

    Notes
    -----
    A foreground that is empty in both masks counts 1.

    Examples
    --------
    >>> iou([[0, 1, 1], [0, 0, 1]], [[0, 1, 0], [0, 1, 1]])
    0.5
    """
    checks.one_of("average", average, AVERAGES)
    pairs = _known_pixels(truth, predicted, ignore)
    counted = _classes(pairs) if classes is None else np.asarray(classes)
    each = [_overlap(*masks, counted) for masks in pairs]
    overlap = _Overlap(*(np.stack(part) for part in zip(*each, strict=True)))
    if average == "image":
        return float(_mean_ratio(overlap, axis=1).mean())
    overlap = _Overlap(*(part.sum(0) for part in overlap))
    if average == "pixels":
        overlap = _Overlap(*(part.sum(keepdims=True) for part in overlap))
    return float(_mean_ratio(overlap, axis=0))


def whole_accuracy(truth: Any, predicted: Any, *, ignore: int | None = None) -> float:
    """Share of masks whose known pixels are all predicted correctly.

    Parameters are those of `iou`.

    Examples
    --------
    >>> whole_accuracy([[[0, 1]], [[1, 1]]], [[[0, 1]], [[0, 1]]])
    0.5
    """
    pairs = _known_pixels(truth, predicted, ignore)
    return float(np.mean([(one == other).all() for one, other in pairs]))


class _Overlap(NamedTuple):
    """Sizes of the intersection and of the union of each class."""

    intersection: Int[np.ndarray, "*images classes"]
    union: Int[np.ndarray, "*images classes"]


def _known_pixels(
    truth: Any, predicted: Any, ignore: int | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The known pixels of each pair of masks, as flat arrays."""
    one, other = _masks(truth), _masks(predicted)
    if len(one) != len(other) or not one:
        raise ValueError(
            "`truth` and `predicted` must hold equally many masks, at least one; got "
            f"{len(one)} and {len(other)}."
        )
    pairs = [pair(*masks) for masks in zip(one, other, strict=True)]
    known = [~np.isnan(mask) & (mask != ignore) for mask, _ in pairs]
    return [(a[k], b[k]) for (a, b), k in zip(pairs, known, strict=True)]


def _masks(values: Any) -> list[np.ndarray]:
    """A single mask (rows of numbers) or several, as a list of 2-D arrays."""
    is_list = isinstance(values, list | tuple) and np.ndim(values[0]) > 1
    masks = [array(mask) for mask in values] if is_list else [array(values)]
    if not is_list and masks[0].ndim == 3:
        masks = list(masks[0])
    for mask in masks:
        if mask.ndim != 2:
            raise ValueError(
                "A mask must have the shape (height, width); got "
                f"{mask.shape}. Reshape flat images first."
            )
    return masks


def _classes(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    values = np.unique(np.concatenate([part for masks in pairs for part in masks]))
    return np.ones(1) if np.isin(values, (0, 1)).all() else values


def _overlap(truth: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> _Overlap:
    true, positive = truth == classes[:, None], predicted == classes[:, None]
    return _Overlap((true & positive).sum(1), (true | positive).sum(1))


def _mean_ratio(overlap: _Overlap, axis: int) -> np.ndarray:
    """The mean over classes of the ratios where the union is not empty, or 1."""
    occurs = overlap.union > 0
    ratio = np.where(occurs, overlap.intersection / np.maximum(overlap.union, 1), 0)
    n_classes = occurs.sum(axis)
    return np.where(n_classes > 0, ratio.sum(axis) / np.maximum(n_classes, 1), 1.0)
