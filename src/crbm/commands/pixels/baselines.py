"""Answers that a model of pixels should beat: the mean mask, logistic regression."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Answer: TypeAlias = Callable[[np.ndarray], np.ndarray]
GRID = 64  # masks are compared on a square of so many places
MOST_PIXELS = 40_000  # of the training images, for logistic regression


def mean_mask(masks: Sequence[np.ndarray], n_labels: int) -> Answer:
    """The most common label at each relative place of the training masks.

    Examples
    --------
    >>> answer = mean_mask([np.array([[0, 1]]), np.array([[0, 0, 1, 1]])], 2)
    >>> answer(np.zeros((1, 4)))
    array([[0, 0, 1, 1]])
    """
    counts = np.zeros((n_labels, GRID, GRID), dtype=np.int64)
    rows, columns = np.indices((GRID, GRID))
    for mask in masks:
        label = mask[np.ix_(_places(GRID, mask.shape[0]), _places(GRID, mask.shape[1]))]
        known = label >= 0
        counts[label[known], rows[known], columns[known]] += 1
    common = counts.argmax(0)

    def answer(image: np.ndarray) -> np.ndarray:
        height, width = image.shape[:2]
        return common[np.ix_(_places(height, GRID), _places(width, GRID))]

    return answer


def logistic_regression(
    images: Sequence[np.ndarray], masks: Sequence[np.ndarray], seed: int = 0
) -> Answer | None:
    """scikit-learn's logistic regression of a pixel's label on its neighbourhood.

    The inputs are the 3 x 3 values around a pixel, its place in the image, and the
    squares of all of these. None if there is only one label.
    """
    rng = np.random.default_rng(seed)
    n_each = max(1, MOST_PIXELS // len(images))
    X, y = [], []
    for image, mask in zip(images, masks, strict=True):
        chosen = rng.permutation(mask.size)[:n_each]
        chosen = chosen[mask.ravel()[chosen] >= 0]
        X.append(_features(image)[chosen])
        y.append(mask.ravel()[chosen])
    labels = np.concatenate(y)
    if len(np.unique(labels)) < 2:
        return None
    fitted = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.fit(np.concatenate(X), labels)

    def answer(image: np.ndarray) -> np.ndarray:
        return fitted.predict(_features(image)).reshape(image.shape[:2])

    return answer


def _places(n_wanted: int, n_given: int) -> Any:
    """Which of `n_given` places are nearest to `n_wanted` equally spaced ones."""
    return ((np.arange(n_wanted) + 0.5) * n_given / n_wanted).astype(np.int64)


def _features(image: np.ndarray) -> np.ndarray:
    """Inputs of each pixel (pixels, inputs)."""
    values = np.atleast_3d(image).astype(np.float32)
    if image.dtype == np.uint8:
        values /= 255
    height, width = image.shape[:2]
    padded = np.pad(values, ((1, 1), (1, 1), (0, 0)), mode="edge")
    around = [
        padded[row : row + height, column : column + width]
        for row in range(3)
        for column in range(3)
    ]
    place = np.stack(
        np.meshgrid(
            np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij"
        ),
        axis=-1,
    )
    linear = np.concatenate([*around, place.astype(np.float32)], axis=-1)
    linear = linear.reshape(height * width, -1)
    return np.concatenate([linear, linear**2], axis=1)
