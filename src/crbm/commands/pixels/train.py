"""`crbm train` for images: fit a `PixelClassifier` to images and masks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crbm.commands.output import check_output_path, save_or_keep
from crbm.commands.pixels import report
from crbm.commands.pixels.assessment import assess
from crbm.commands.pixels.data import ImageReading, identity, load
from crbm.commands.train import check_parameters
from crbm.datasets import ImageDataset
from crbm.estimators import PixelClassifier

MOST_EXAMPLE_BYTES = 2**20  # of the images that a model file keeps


def run(
    source: str,
    out: Path,
    *,
    parameters: Mapping[str, Any] | None = None,
    held_out: float = 0.0,
    reading: ImageReading = ImageReading(),  # noqa: B008 - a constant
    n_examples: int = 8,
    force: bool = False,
) -> dict[str, Any]:
    """Train a classifier of pixels, save it to `out` and return a summary.

    Parameters
    ----------
    source, reading
        A folder of images with `reading.masks`, an NPZ file of `images` and `masks` or
        a data set by name.
    out, force
        The model file, and whether an existing file may be replaced. A page about the
        model is written beside it.
    parameters
        Parameters of `PixelClassifier`.
    held_out
        Fraction of the images to measure the error on, with a second fit to the others
        after the model is saved; 0 measures nothing.
    n_examples
        How many images the model file keeps, to try the model on.
    """
    check_output_path(out, force=force, endings=(".safetensors",))
    page = report.path_of(out)
    check_output_path(page, force=force, endings=(".html",))
    if not 0 <= held_out <= 0.5:
        raise ValueError(f"`held_out` must be between 0 and 0.5; got {held_out}.")
    classifier = PixelClassifier()
    classifier.set_params(**check_parameters(classifier, parameters or {}))
    data = in_memory(load(source, reading, default_part="train"))
    if data.masks is None or data.labels is None:
        raise ValueError(f"`{source}` has no masks to learn from; give --masks.")
    if len(data.labels) < 2:
        raise ValueError(
            f"The masks of `{source}` hold one value, {data.labels.values[0]}; at "
            "least two labels are needed."
        )
    classifier.set_params(n_labels=len(data.labels))
    classifier.fit(data.images, data.masks)
    described = {**identity(data), "labels": data.labels.as_dict()}
    examples = example_images(data.images, n_examples)
    classifier.describe(trained_on=described, examples=examples or None)
    save_or_keep(classifier, out)
    assessment, found = assess(classifier, data, held_out)
    report.write(page, classifier, assessment, found)
    plain = {} if assessment is None else {"held_out": assessment.as_dict()}
    return {
        "out": str(out),
        **summary(classifier, data),
        "report": str(page),
        "notices": found,
        **plain,
    }


def summary(classifier: PixelClassifier, data: ImageDataset) -> dict[str, Any]:
    """The main figures of a fit."""
    return {
        "model": type(classifier).__name__,
        "n_images": len(data),
        "n_channels": classifier.n_channels_,
        "labels": ", ".join(data.labels.names if data.labels else ()),
        "n_epochs": len(classifier.history_.epochs),
        "loss": classifier.history_.loss[-1],
    }


def in_memory(data: ImageDataset) -> ImageDataset:
    """The data with all images and masks read, as training goes through them often."""
    masks = None if data.masks is None else list(data.masks)
    return replace(data, images=list(data.images), masks=masks)


def example_images(images: list[np.ndarray], count: int) -> list[np.ndarray]:
    """Images from all over the data, as many as fit into a model file."""
    places = np.unique(np.linspace(0, len(images) - 1, count).astype(int))
    chosen: list[np.ndarray] = []
    n_bytes = 0
    for place in places[:count]:
        n_bytes += images[place].nbytes
        if n_bytes <= MOST_EXAMPLE_BYTES:
            chosen.append(images[place])
    return chosen
