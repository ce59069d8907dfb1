"""Measures of a classifier of pixels on the test part of a data set."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from crbm import metrics
from paper.engine.store import Outcome
from paper.tables.image_tasks import Part


def measure_restored(classifier: Any, test: Part, *, with_nll: bool = True) -> Outcome:
    """Errors of Table 2, digits entirely right, and the joint -log p in nats.

    Errors per pixel are those of the likeliest label of each pixel, digits entirely
    right those of the mode. `details` have both of both.
    """
    noisy, clean = np.asarray(test.images), np.asarray(test.masks)

    def errors(prediction: str) -> dict[str, float]:
        predicted = classifier.set_params(prediction=prediction).predict(noisy)
        return {
            "all": 100 * metrics.all_error(clean, predicted),
            "changed": 100 * metrics.changed_error(clean, predicted, noisy),
            "whole": 100 * metrics.whole_accuracy(clean, predicted),
        }

    each = {prediction: errors(prediction) for prediction in ("marginals", "mode")}
    found = {**each["marginals"], "whole": each["mode"]["whole"]}
    if with_nll:
        found["nll"] = -float(classifier.score_samples(noisy, clean).mean())
    details = {
        f"{name}_of_{prediction}": error
        for prediction, errors_of_it in each.items()
        for name, error in errors_of_it.items()
    }
    return Outcome(found, details)


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
