"""Measures of a classifier of pixels on the test part of a data set."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from crbm import metrics
from paper.engine.store import Outcome
from paper.tables.image_tasks import Part


def measure_restored(classifier: Any, test: Part) -> Outcome:
    """Errors of Table 2, digits entirely right, and the joint -log p in nats."""
    noisy, clean = np.asarray(test.images), np.asarray(test.masks)

    def errors(predicted: np.ndarray) -> dict[str, float]:
        return {
            "all": 100 * metrics.all_error(clean, predicted),
            "changed": 100 * metrics.changed_error(clean, predicted, noisy),
            "whole": 100 * metrics.whole_accuracy(clean, predicted),
        }

    found = errors(classifier.predict(noisy))
    nll = -float(classifier.score_samples(noisy, clean).mean())
    classifier.set_params(prediction="mode")
    of_mode = errors(classifier.predict(noisy))
    details = {f"{name}_of_mode": error for name, error in of_mode.items()}
    return Outcome({**found, "nll": nll}, details)


def measure_completed(classifier: Any, test: Part) -> Outcome:
    """-log p of the quadrants that are not seen, given those that are, in nats."""
    images, masks = np.asarray(test.images), np.asarray(test.masks)
    whole = classifier.score_samples(images, masks)
    seen = classifier.score_samples(images, np.asarray(test.known))
    predicted = classifier.predict(images, known=np.asarray(test.known))
    return Outcome(
        {
            "nll": float((seen - whole).mean()),
            "all": 100 * metrics.all_error(masks, predicted),
            "whole": 100 * metrics.whole_accuracy(masks, predicted),
        },
        {},
    )


def measure_labelled(classifier: Any, test: Part) -> Outcome:
    """Intersection over union, right pixels and the joint -log p in nats."""
    images, masks = list(test.images), list(test.masks)
    predicted = classifier.predict(images)
    n_labels = classifier.n_labels_
    ignore = classifier.ignore
    iou = partial(metrics.iou, masks, predicted, ignore=ignore)
    classes = [1] if n_labels == 2 else range(n_labels)
    measured = {
        "iou": 100 * iou(average="image", classes=classes),
        "accuracy": 100 * classifier.score(images, masks),
        "whole": 100 * metrics.whole_accuracy(masks, predicted, ignore=ignore),
        "nll": -float(classifier.score_samples(images, masks).mean()),
    }
    if n_labels > 2:
        measured["iou_of_classes"] = 100 * iou(average="class", classes=classes)
    classifier.set_params(prediction="mode")
    predicted = classifier.predict(images)
    mode = metrics.iou(masks, predicted, "image", ignore=ignore, classes=classes)
    return Outcome(measured, {"iou_of_mode": 100 * mode})
