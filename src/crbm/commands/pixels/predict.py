"""`crbm predict` for images: a label PNG, and perhaps probabilities, for each image."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from crbm import paths
from crbm.commands.pixels.data import ImageReading, load
from crbm.commands.pixels.model import label_image, labels_of, reads_colour
from crbm.commands.pixels.progress import track
from crbm.datasets import ImageDataset, MaskLabels, write_mask
from crbm.datasets.images.dataset import ImageFiles
from crbm.datasets.images.decoding import ENDINGS
from crbm.estimators import PixelClassifier

PROBABILITY = "probability"  # the folder of the maps


def run(
    classifier: PixelClassifier,
    source: str,
    out: Path | None,
    *,
    reading: ImageReading = ImageReading(),  # noqa: B008 - a constant
    proba: bool = False,
    progress: bool | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Label all images of a folder, one at a time, and write a PNG file for each.

    Parameters
    ----------
    classifier
        The model.
    source, reading
        A folder, an image, an NPZ file or a data set by name, and how to read it.
    out, force
        The folder for the label PNGs, and whether existing files may be replaced. Each
        file is complete whenever it exists.
    proba
        Whether to write the probability of each label too, as 16-bit grey PNGs in
        `out/probability/LABEL`; of two labels only that of the second.
    progress
        Whether to show a progress bar; by default only on a terminal.
    """
    if out is None:
        raise ValueError("Label PNGs go into a folder; name it with --out.")
    data = load(source, reading, colour=reads_colour(classifier))
    labels = labels_of(classifier)
    names = output_names(data)
    _prepare(out, names, data, force=force)
    n_done = 0
    try:
        for place in track(range(len(data)), "Labelling", show=progress):
            found = label_image(classifier, data.images[place], proba=proba)
            if found.probability is not None:
                _write_maps(out / PROBABILITY, names[place], found.probability, labels)
            write_mask(out / names[place], found.mask, labels)
            n_done += 1
    except KeyboardInterrupt as error:
        message = f"stopped: {n_done} of {len(data)} images are labelled in {out}."
        raise KeyboardInterrupt(message) from error
    return {"out": str(out), "n_images": len(data), "labels": list(labels.names)}


def output_names(data: ImageDataset) -> list[str]:
    """The name of the label PNG of each image.

    Examples
    --------
    >>> data = ImageDataset(images=[0, 0], files=("a.jpg", "b.tif"))
    >>> output_names(data)
    ['a.png', 'b.png']
    """
    names = [f"{Path(file).stem}.png" for file in data.files]
    for place, name in enumerate(names):
        first = names.index(name)
        if first < place:
            raise ValueError(
                f"`{data.files[first]}` and `{data.files[place]}` would both become "
                f"`{name}`; rename one."
            )
    return names


def map_folders(labels: MaskLabels) -> dict[int, str]:
    """The folder of the probability maps of each label, by label.

    Examples
    --------
    >>> map_folders(MaskLabels.of_values([0, 1, 2], names=["sky", "a/b", "car"]))
    {0: '0-sky', 1: '1-a_b', 2: '2-car'}
    """
    chosen = [1] if len(labels) == 2 else range(len(labels))
    plain = [re.sub(r"[^\w-]+", "_", name) for name in labels.names]
    return {label: f"{label}-{plain[label]}" for label in chosen}


def _prepare(out: Path, names: list[str], data: ImageDataset, *, force: bool) -> None:
    """Make the folder; raise if files would be lost."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"`{out}` is a file; label PNGs need a folder.")
    if out.suffix.lower() in ENDINGS and not out.exists():
        raise ValueError(
            f"Label PNGs go into a folder, but `{out}` is the name of a file; give the "
            "name of a folder, e.g. --out labels."
        )
    if isinstance(data.images, ImageFiles):
        inputs = {file.resolve() for file in data.images.files}
        if any((out / name).resolve() in inputs for name in names):
            raise ValueError(
                f"`{out}` holds the images themselves; choose another folder for the "
                "label PNGs."
            )
    existing = [name for name in names if (out / name).exists()]
    if existing and not force:
        raise FileExistsError(
            f"`{out / existing[0]}` exists. Choose another folder, or add --force."
        )
    out.mkdir(parents=True, exist_ok=True)
    paths.check_writable(out / names[0])


def _write_maps(
    folder: Path, name: str, probability: np.ndarray, labels: MaskLabels
) -> None:
    for label, place in map_folders(labels).items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        grey = np.round(probability[..., label] * 0xFFFF).astype(np.uint16)
        with paths.replacing(folder / place / name) as draft:
            Image.fromarray(grey).save(draft, format="PNG")
