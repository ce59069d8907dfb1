"""What the commands need of a `PixelClassifier`: its labels, one image at a time."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from crbm import persistence
from crbm.datasets import MaskLabels
from crbm.estimators import PixelClassifier, load


class Labelling(NamedTuple):
    """The labels of one image, and the probability of each."""

    mask: np.ndarray
    probability: np.ndarray | None


def load_if_pixels(path: Path | str) -> PixelClassifier | None:
    """The model in a file if it labels the pixels of images, else None."""
    kind = persistence.read_description(path).get("class")
    return load(path) if kind == PixelClassifier.__name__ else None


def labels_of(classifier: PixelClassifier) -> MaskLabels:
    """The labels of a model; plain numbers if it was not trained on files."""
    stored = getattr(classifier, "trained_on_", {}).get("labels")
    if stored is not None and len(stored["values"]) == classifier.n_labels_:
        return MaskLabels.from_dict(stored)
    return MaskLabels.of_values(range(classifier.n_labels_))


def reads_colour(classifier: PixelClassifier) -> bool:
    """Whether the model needs colour images."""
    return classifier.n_channels_ > 1


def label_image(
    classifier: PixelClassifier,
    image: np.ndarray,
    *,
    proba: bool = False,
    known: np.ndarray | None = None,
) -> Labelling:
    """Label one image; `known` are labels, `classifier.ignore` where not known."""
    given = None if known is None else [known]
    mask = classifier.predict([image], known=given)[0]
    if not proba:
        return Labelling(mask, None)
    return Labelling(mask, classifier.predict_proba([image], known=given)[0])
