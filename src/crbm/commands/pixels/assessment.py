"""How good a model of pixels is on images that it did not learn from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from crbm.commands.assessment import MOST_COMMON, ONLY_ONCE, REGRESSION
from crbm.commands.pixels.baselines import logistic_regression, mean_mask
from crbm.commands.pixels.measures import confusion, measures
from crbm.datasets import ImageDataset
from crbm.estimators import PixelClassifier

FEWEST_IMAGES = 10  # of which some can be held out
N_SHOWN = 4


class Case(NamedTuple):
    """A held-out image, its true mask and the predicted one."""

    image: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray


class Assessment(NamedTuple):
    """Measures on held-out images.

    Parameters
    ----------
    model
        The name of the model among the answers.
    counts
        Confusions (images, labels, labels) by name: of the model, the mean mask and
        logistic regression.
    n_train
        The number of images that the answers were learned from.
    shown
        Some held-out images.
    """

    model: str
    counts: dict[str, np.ndarray]
    n_train: int
    shown: list[Case]

    def scores(self) -> dict[str, dict[str, float]]:
        """The measures of each answer."""
        return {name: measures(c) for name, c in self.counts.items()}

    def as_dict(self) -> dict[str, Any]:
        """The numbers of images and the measures as plain data."""
        n_images = len(self.counts[self.model])
        return {"n_cases": n_images, "n_train": self.n_train, "metrics": self.scores()}


def assess(
    classifier: PixelClassifier, data: ImageDataset, fraction: float
) -> tuple[Assessment | None, list[str]]:
    """Fit a copy to a part of the images and label the rest; and what to know.

    The model is saved already, so that a failure is only a notice.
    """
    if not fraction:
        return None, []
    if len(data) < FEWEST_IMAGES:
        message = f"Fewer than {FEWEST_IMAGES} images: the error was not measured."
        return None, [message]
    try:
        found = _assess(classifier, data, fraction)
    except KeyboardInterrupt:
        return None, ["Interrupted: the error on held-out images was not measured."]
    except ValueError as error:
        return None, [f"The error on held-out images was not measured: {error}"]
    return found, _notices(found)


def _assess(
    classifier: PixelClassifier, data: ImageDataset, fraction: float
) -> Assessment:
    n_labels = classifier.n_labels_
    order = np.random.default_rng(0).permutation(len(data))
    n_test = max(1, round(fraction * len(data)))
    test, train = data.select(np.sort(order[:n_test])), data.select(order[n_test:])
    own = {k: v for k, v in ONLY_ONCE.items() if k in classifier.get_params()}
    fitted = clone(classifier).set_params(**own)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first fit has given them
        fitted.fit(train.images, train.masks)
    name = type(classifier).__name__
    answers: dict[str, Callable[[np.ndarray], np.ndarray] | None] = {
        name: lambda image: fitted.predict([image])[0],
        MOST_COMMON: mean_mask(train.masks, n_labels),
        REGRESSION: logistic_regression(train.images, train.masks),
    }
    predicted = {
        name: [answer(image) for image in test.images]
        for name, answer in answers.items()
        if answer is not None
    }
    counts = {
        answer: np.stack(
            [
                confusion(truth, mask, n_labels)
                for truth, mask in zip(test.masks, masks, strict=True)
            ]
        )
        for answer, masks in predicted.items()
    }
    cases = zip(test.images, test.masks, predicted[name], strict=True)
    shown = [Case(*case) for case in cases][:N_SHOWN]
    return Assessment(name, counts, len(train), shown)


def _notices(found: Assessment) -> list[str]:
    scores = found.scores()
    own = scores[found.model]["image_iou"]
    best = max(scores, key=lambda name: scores[name]["image_iou"])
    if scores[best]["image_iou"] <= own:
        return []
    return [
        f"The model's IoU is below that of the {best}: train it longer, or on "
        "more images."
    ]
