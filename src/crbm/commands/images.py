"""Whether a classifier's outputs form an image."""

from __future__ import annotations

import math

from crbm.estimators import LabelSetClassifier

# A square number of outputs below this is more likely a set of labels than an image.
SMALLEST_IMAGE = 64


def image_shape(classifier: LabelSetClassifier) -> tuple[int, int] | None:
    """Height and width of the outputs if they form an image, else None.

    A shape recorded with the training data decides. Without one, the outputs are taken
    for a square image if there are as many inputs, and at least `SMALLEST_IMAGE`.
    """
    shape = getattr(classifier, "output_shape_", None)
    if shape is not None:
        return (int(shape[0]), int(shape[1])) if len(shape) == 2 else None
    n_pixels = classifier.n_labels_
    side = math.isqrt(n_pixels)
    is_square = n_pixels >= SMALLEST_IMAGE and side * side == n_pixels
    is_restoring = classifier.n_features_in_ == n_pixels
    return (side, side) if is_square and is_restoring else None
