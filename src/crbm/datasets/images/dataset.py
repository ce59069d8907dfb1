"""`ImageDataset`: images of any sizes, and the label of each pixel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from crbm.datasets.dataset import Array
from crbm.datasets.images.decoding import read_image
from crbm.datasets.images.labels import MaskLabels
from crbm.datasets.images.masks import read_mask


class ImageFiles(Sequence[Array]):
    """Images in files, each read when it is asked for.

    Parameters
    ----------
    files
        The files.
    colour
        Whether all are read in colour, or all in grey.
    """

    def __init__(self, files: Sequence[Path], *, colour: bool) -> None:
        self.files, self.colour = tuple(files), colour

    def __len__(self) -> int:
        return len(self.files)

    @overload
    def __getitem__(self, place: int) -> Array: ...
    @overload
    def __getitem__(self, place: slice) -> ImageFiles: ...
    def __getitem__(self, place: int | slice) -> Array | ImageFiles:
        if isinstance(place, slice):
            return ImageFiles(self.files[place], colour=self.colour)
        return read_image(self.files[place], colour=self.colour)


class MaskFiles(Sequence[Array]):
    """Masks in files, each read when it is asked for."""

    def __init__(self, files: Sequence[Path], labels: MaskLabels) -> None:
        self.files, self.labels = tuple(files), labels

    def __len__(self) -> int:
        return len(self.files)

    @overload
    def __getitem__(self, place: int) -> Array: ...
    @overload
    def __getitem__(self, place: slice) -> MaskFiles: ...
    def __getitem__(self, place: int | slice) -> Array | MaskFiles:
        if isinstance(place, slice):
            return MaskFiles(self.files[place], self.labels)
        return read_mask(self.files[place], self.labels)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ImageDataset:
    """Images, the masks that label their pixels, and where they come from.

    Parameters
    ----------
    images
        One array (height, width) or (height, width, channels) per image, of any sizes.
        Those of a folder are read when they are asked for.
    masks
        One array (height, width) of labels 0..K-1 per image, -1 where a pixel has none;
        None if there are no masks.
    labels
        The labels: their names, colours, and values in mask files.
    files
        A name for each image.
    name, splits, licence, citation, source
        As in `Dataset`.

    Examples
    --------
    >>> labels = MaskLabels.of_values([0, 1], names=["sky", "horse"])
    >>> images, masks = np.zeros((5, 4, 6, 3), np.uint8), np.zeros((5, 4, 6), np.uint8)
    >>> data = ImageDataset(images=images, masks=masks, labels=labels, name="empty")
    >>> data
    ImageDataset(name='empty', images=5, labels=['sky', 'horse'], splits=[])
    >>> len(data.select([0, 2]))
    2
    """

    images: Any
    masks: Any = None
    labels: MaskLabels | None = None
    files: tuple[str, ...] = ()
    name: str = ""
    splits: Mapping[str, Array] = field(default_factory=dict)
    licence: str = ""
    citation: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        if not self.files:
            names = tuple(f"{place:05d}" for place in range(len(self.images)))
            object.__setattr__(self, "files", names)  # the dataclass is frozen
        if self.masks is not None and len(self.masks) != len(self.images):
            raise ValueError(
                f"There are {len(self.images)} images and {len(self.masks)} masks; "
                "each image needs one mask."
            )

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        names = None if self.labels is None else list(self.labels.names)
        return (
            f"ImageDataset(name={self.name!r}, images={len(self)}, labels={names}, "
            f"splits={list(self.splits)})"
        )

    def select(self, places: Sequence[int] | Array) -> ImageDataset:
        """The images at these places."""
        places = np.asarray(places, dtype=np.int64)
        return replace(
            self,
            images=_take(self.images, places),
            masks=None if self.masks is None else _take(self.masks, places),
            files=tuple(self.files[place] for place in places),
            splits={},
        )

    def with_labels(self, labels: MaskLabels) -> ImageDataset:
        """The same images with masks of other labels, found by their values.

        Examples
        --------
        Without the pixels that nobody labelled::

            streets = crbm.datasets.load("camvid")
            streets = streets.with_labels(streets.labels.ignoring("unlabelled"))
        """
        if self.masks is None or self.labels is None or labels == self.labels:
            return replace(self, labels=labels)
        if isinstance(self.masks, MaskFiles):
            return replace(
                self, masks=MaskFiles(self.masks.files, labels), labels=labels
            )
        values = np.array(self.labels.values)
        masks: Any = [labels.encode(values[mask]) for mask in self.masks]
        if isinstance(self.masks, np.ndarray):
            masks = np.stack(masks)
        return replace(self, masks=masks, labels=labels)

    def part(self, name: str) -> tuple[Any, Any]:
        """Images and masks of the official split `name`."""
        if name not in self.splits:
            known = ", ".join(f"`{split}`" for split in self.splits) or "no split"
            raise ValueError(f"Data set `{self.name}` has {known}, not `{name}`.")
        chosen = self.select(self.splits[name])
        return chosen.images, chosen.masks


def _take(items: Any, places: Array) -> Any:
    if isinstance(items, np.ndarray):
        return items[places]
    if isinstance(items, ImageFiles):
        return ImageFiles([items.files[i] for i in places], colour=items.colour)
    if isinstance(items, MaskFiles):
        return MaskFiles([items.files[i] for i in places], items.labels)
    return [items[place] for place in places]
