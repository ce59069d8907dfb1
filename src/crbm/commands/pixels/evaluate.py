"""`crbm evaluate` for images: measures of predicted masks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from crbm.commands import notices
from crbm.commands.pixels.data import ImageReading, identity, load
from crbm.commands.pixels.measures import confusion, label_measures, measures
from crbm.commands.pixels.model import labels_of, reads_colour
from crbm.commands.pixels.progress import track
from crbm.estimators import PixelClassifier


def run(
    classifier: PixelClassifier,
    model: Path | str,
    source: str,
    *,
    reading: ImageReading = ImageReading(),  # noqa: B008 - a constant
    per_label: bool = False,
    joint: bool = False,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Measure a model's masks beside the true ones, and return plain data.

    Parameters
    ----------
    classifier, model
        The model and its file.
    source, reading
        A folder of images with `reading.masks`, an NPZ file or a data set by name.
    per_label
        Whether to measure each label too.
    joint
        Whether to estimate -log p(mask | image), which is slow.
    progress
        Whether to show a progress bar; by default only on a terminal.
    """
    labels = labels_of(classifier)
    data = load(
        source,
        reading,
        labels=labels,
        default_part="test",
        colour=reads_colour(classifier),
    )
    if data.masks is None:
        raise ValueError(f"`{source}` has no masks to compare with; give --masks.")
    counts, scores = [], []
    for place in track(range(len(data)), "Measuring", show=progress):
        image, truth = data.images[place], data.masks[place]
        predicted = classifier.predict([image])[0]
        counts.append(confusion(truth, predicted, len(labels)))
        if joint:
            scores.append(classifier.score_samples([image], [truth])[0])
    found = measures(np.stack(counts))
    if joint:
        found["joint_log_loss"] = -float(np.mean(scores))
    report: dict[str, Any] = {"model": str(model), "data": source}
    report |= {"n_cases": len(data), "metrics": found}
    trained_on = getattr(classifier, "trained_on_", {})
    report["notices"] = notices.about_training_data(trained_on, identity(data))
    if per_label:
        report["labels"] = label_measures(np.stack(counts), labels.names)
    return report
