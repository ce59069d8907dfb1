"""Load the images that a command names: a folder, an NPZ file or a known data set."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crbm import datasets
from crbm.commands.reading import Reading
from crbm.datasets import Dataset, ImageDataset, MaskLabels
from crbm.datasets.images.dataset import ImageFiles
from crbm.datasets.images.decoding import ENDINGS
from crbm.datasets.images.reading import is_image_npz

NAMED = ("camvid", "horses-full")  # data sets of images; others are rows


class ImageReading(NamedTuple):
    """What a folder of images does not say about itself.

    `masks` is the folder of masks, `threshold` makes grey images to masks; `names` are
    the names of the labels; `part` selects images: `train`, `valid`, `test` or `all`;
    `ignore` names a label, or is the value in masks, of pixels that nobody labelled.
    """

    masks: Path | None = None
    threshold: int | None = None
    names: tuple[str, ...] | None = None
    part: str | None = None
    ignore: str | None = None

    @classmethod
    def of(
        cls,
        reading: Reading,
        masks: Path | None = None,
        threshold: int | None = None,
        ignore: str | None = None,
    ) -> ImageReading:
        """The options of images among those of all data files."""
        labels = reading.labels
        if isinstance(labels, int | Path):
            raise ValueError("--labels must be the names of the labels of the pixels.")
        names = tuple(labels) if labels else None
        return cls(masks, threshold, names, reading.part, ignore)


def is_images(source: str) -> bool:
    """Whether this names images: a folder, an image, an NPZ file or a data set."""
    path = Path(source)
    if path.is_dir() or path.suffix.lower() in ENDINGS:
        return True
    if path.is_file():
        return path.suffix.lower() == ".npz" and is_image_npz(path)
    return source in NAMED


def check_folder(source: str) -> None:
    """Refuse a folder without any file that could be an image."""
    path = Path(source)
    if path.is_dir() and not any(
        file.suffix.lower() in ENDINGS for file in path.rglob("*")
    ):
        raise ValueError(
            f"`{source}` is a folder with no image files and no Parquet or Arrow "
            "files. Name another folder, or a file."
        )


def load(
    source: str,
    reading: ImageReading,
    *,
    labels: MaskLabels | None = None,
    default_part: str = "all",
    colour: bool | None = None,
) -> ImageDataset:
    """Load images, with masks if there are any.

    Parameters
    ----------
    source, reading
        A folder, an image, an NPZ file or a data set by name, and how to read it.
    labels
        The labels that masks may hold; by default those that occur.
    default_part
        The part to use if the data set has it and `reading` names none.
    colour
        Whether images are read in colour; by default if any has colours.
    """
    path = Path(source)
    if not path.exists():
        data = _named(source)
    elif path.suffix.lower() in ENDINGS and not path.is_dir():
        data = _single(path, colour)
    else:
        data = datasets.read_images(
            path,
            reading.masks,
            names=reading.names,
            labels=labels,
            threshold=reading.threshold,
            colour=colour,
        )
    if reading.masks is not None and not path.is_dir():
        raise ValueError(f"--masks goes with a folder of images; `{source}` is none.")
    data = _select(data, reading.part, default_part)
    if labels is not None:
        return data.with_labels(labels)
    if data.labels is not None and reading.ignore is not None:
        return data.with_labels(data.labels.ignoring(reading.ignore))
    return data


def identity(data: ImageDataset) -> dict[str, Any]:
    """Which images these are: name, part, number and a digest of their names."""
    whole = [name for name, rows in data.splits.items() if len(rows) == len(data)]
    digest = hashlib.sha256("\n".join(data.files).encode())
    for image in _first(data.images):
        digest.update(np.ascontiguousarray(image).tobytes())
    return {
        "name": data.name,
        "part": whole[0] if whole else "all",
        "n_cases": len(data),
        "sha256": digest.hexdigest(),
    }


def _first(images: Any) -> list[Any]:
    return [images[place] for place in range(min(3, len(images)))]


def _named(source: str) -> ImageDataset:
    if source not in datasets.names():
        raise FileNotFoundError(
            f"There is no folder or file `{source}`. `crbm data list` lists names."
        )
    found: Dataset | ImageDataset = datasets.load(source)
    return found if isinstance(found, ImageDataset) else datasets.as_images(found)


def _single(path: Path, colour: bool | None) -> ImageDataset:
    image = datasets.read_image(path, colour=colour)
    files = ImageFiles([path], colour=image.ndim == 3)
    return ImageDataset(images=files, files=(path.name,), name=path.stem)


def _select(data: ImageDataset, part: str | None, default: str) -> ImageDataset:
    if part is None and default in data.splits:
        part = default
    if part is None or part == "all":
        return data
    if part not in data.splits:
        known = ", ".join(f"`{name}`" for name in (*data.splits, "all"))
        raise ValueError(f"`{data.name}` has no part `{part}`; it has {known}.")
    chosen = data.select(data.splits[part])
    return replace(chosen, splits={part: np.arange(len(chosen))})
