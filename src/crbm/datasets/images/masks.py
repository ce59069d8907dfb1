"""Read and write mask files: one label per pixel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from crbm import paths
from crbm.datasets.dataset import Array
from crbm.datasets.formats._common import file_error
from crbm.datasets.images.decoding import DEEP_GREY, opening
from crbm.datasets.images.labels import (
    MOST_LABELS,
    Colour,
    MaskLabels,
    Value,
    pack,
    unpack,
)

_LOSSY = (".jpg", ".jpeg", ".webp")


def read_mask(path: Path | str, labels: MaskLabels) -> Array:
    """Read the labels (height, width) of a mask file.

    Parameters
    ----------
    path
        A PNG, TIFF, BMP, JPEG or WebP file.
    labels
        The labels, e.g. from `find_labels`.

    Raises
    ------
    ValueError
        If the file is damaged, or a pixel holds none of the values.
    """
    path = paths.require_file(path, "mask")
    pixels = _read(path, labels.in_colour)
    try:
        return labels.encode(pixels)
    except ValueError as error:
        raise file_error(path, f"{error}{_advice(path)}") from error


def find_labels(
    files: Sequence[Path],
    *,
    names: Sequence[str] | None = None,
    threshold: int | None = None,
) -> MaskLabels:
    """The labels of mask files, from the values that occur in them.

    The values become labels in increasing order, so that black is label 0. Masks with
    one common palette hold indices, other colour masks hold colours.

    Parameters
    ----------
    files
        The mask files; each is read once.
    names
        Names of the labels; by default the values.
    threshold
        For masks that are grey images: values above it are label 1, the others 0.
    """
    if threshold is not None:
        return MaskLabels.of_values([0, 255], names=names, threshold=threshold)
    palettes = [_palette(path) for path in files]
    palette = _common_palette(palettes)
    in_colour = palette is None and any(found is not None for found in palettes)
    found: set[int] = set()
    for path in files:
        found |= _codes(path, in_colour)
        if len(found) > (MOST_LABELS if palette is None else 256):
            problem = (
                f"with this mask there are {len(found)} different values, too many "
                f"for labels.{_advice(path)} For masks that are grey images, pass "
                "`threshold` (`--threshold 127`)."
            )
            raise file_error(path, problem)
    codes = sorted(found)
    values: list[Value] = [unpack(code) if in_colour else code for code in codes]
    colours = None if palette is None else [palette[code] for code in codes]
    labels = MaskLabels.of_values(values, colours=colours)
    return labels if names is None else labels.with_names(names)


def write_mask(path: Path | str, mask: Array, labels: MaskLabels) -> None:
    """Write labels as a PNG file with a palette.

    The pixels hold the values of `labels` if these are numbers below 256, else the
    labels themselves; the palette has the colours. So `read_mask` gives the mask back
    where masks hold numbers, and the colours are those of the training masks where
    masks hold colours.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "mask.png"
    >>> labels = MaskLabels.of_values([0, 255])
    >>> write_mask(file, np.array([[0, 1]]), labels)
    >>> np.array(Image.open(file)).tolist(), read_mask(file, labels).tolist()
    ([[0, 255]], [[0, 1]])
    """
    if len(labels) > 256:
        raise ValueError(f"A label PNG has at most 256 labels, not {len(labels)}.")
    indices = _indices(labels)
    image = Image.fromarray(indices[mask])
    palette = np.zeros((int(indices.max()) + 1, 3), dtype=np.uint8)
    palette[indices] = np.array(labels.colours, dtype=np.uint8)
    image.putpalette(palette.tobytes())
    with paths.replacing(Path(path)) as draft:
        image.save(draft, format="PNG")


def _indices(labels: MaskLabels) -> Array:
    """The number that a written mask holds for each label."""
    numbers = [v for v in labels.values if isinstance(v, int) and 0 <= v < 256]
    fits = len(numbers) == len(labels)
    return np.array(numbers if fits else range(len(labels)), dtype=np.uint8)


def _read(path: Path, in_colour: bool) -> Array:
    """The numbers or colours of a mask file."""
    with opening(path, path) as image:
        image = ImageOps.exif_transpose(image)
        if in_colour:
            if image.mode in ("F", *DEEP_GREY):
                raise file_error(
                    path, "has 16 bits per pixel; other masks are in colour."
                )
            return np.array(image.convert("RGB"))
        if image.mode == "F":
            raise file_error(path, "holds fractions; a mask holds whole numbers.")
        if image.mode == "P" or image.mode in DEEP_GREY:
            return np.array(image)
        if image.mode not in ("1", "L", "LA"):
            problem = (
                f"is in colour (mode {image.mode}); the masks of the model are not."
            )
            raise file_error(path, problem)
        return np.array(image.convert("L"))


def _codes(path: Path, in_colour: bool) -> set[int]:
    pixels = _read(path, in_colour)
    return set(np.unique(pack(pixels) if in_colour else pixels).tolist())


def _palette(path: Path) -> list[Colour] | None:
    """The palette of a mask; empty for colours without one; None for grey."""
    with opening(path, path) as image:
        if image.mode == "P":
            flat = image.getpalette("RGB") or []
            return [tuple(flat[i : i + 3]) for i in range(0, len(flat), 3)]  # type: ignore[misc]
        return None if image.mode in ("1", "L", "LA", "F", *DEEP_GREY) else []


def _common_palette(palettes: Iterable[list[Colour] | None]) -> list[Colour] | None:
    """The palette of all masks if they share one, perhaps cut at different lengths."""
    found = list(palettes)
    if not found or not all(found):
        return None
    whole = [palette for palette in found if palette]
    longest = max(whole, key=len)
    same = all(palette == longest[: len(palette)] for palette in whole)
    return longest if same else None


def _advice(path: Path) -> str:
    if path.suffix.lower() not in _LOSSY:
        return ""
    return f" {path.suffix[1:].upper()} changes values; save masks as PNG."
