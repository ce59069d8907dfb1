"""How labels are written in mask files: values, colours and names of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from crbm.datasets.dataset import Array

Colour: TypeAlias = tuple[int, int, int]
Value: TypeAlias = int | Colour
MOST_LABELS = 64  # more distinct values are more likely a photograph than labels


@dataclass(frozen=True)
class MaskLabels:
    """The labels 0..K-1 of masks, and how a mask file holds each.

    Parameters
    ----------
    values
        What a pixel of a mask file holds for each label: a grey value or palette index,
        or a colour (red, green, blue).
    colours
        The colour to show each label in.
    names
        The name of each label.
    threshold
        For masks that are grey images: values above it are label 1. None if masks hold
        exactly `values`.

    Examples
    --------
    >>> labels = MaskLabels.of_values([0, 255])
    >>> labels.encode(np.array([[0, 255, 255]]))
    array([[0, 1, 1]], dtype=uint8)
    >>> labels.colours
    ((0, 0, 0), (255, 255, 255))
    """

    values: tuple[Value, ...]
    colours: tuple[Colour, ...]
    names: tuple[str, ...]
    threshold: int | None = None

    def __post_init__(self) -> None:
        sizes = {len(self.values), len(self.colours), len(self.names)}
        if len(sizes) > 1 or not self.values:
            raise ValueError(
                f"There are {len(self.values)} values of labels, {len(self.colours)} "
                f"colours and {len(self.names)} names; give one of each per label."
            )

    @classmethod
    def of_values(
        cls,
        values: Sequence[Value],
        *,
        colours: Sequence[Colour] | None = None,
        names: Sequence[str] | None = None,
        threshold: int | None = None,
    ) -> MaskLabels:
        """Labels with these values; colours and names are made up if not given."""
        values = tuple(values)
        if colours is None:
            is_colour = bool(values) and isinstance(values[0], tuple)
            colours = values if is_colour else distinct_colours(len(values))  # type: ignore[assignment]
        if names is None:
            names = [_name(value) for value in values]
        return cls(values, tuple(colours or ()), tuple(names), threshold)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def in_colour(self) -> bool:
        """Whether mask files hold colours, not numbers."""
        return isinstance(self.values[0], tuple)

    def encode(self, pixels: Array) -> Array:
        """Labels of the pixels of a mask file.

        Parameters
        ----------
        pixels
            Numbers (height, width), or colours (height, width, 3) if `in_colour`.

        Raises
        ------
        ValueError
            If a pixel holds none of the values.
        """
        if self.threshold is not None:
            return (pixels > self.threshold).astype(np.uint8)
        codes = pack(pixels) if self.in_colour else pixels.astype(np.int64)
        known = self._codes()
        order = np.argsort(known)
        place = np.searchsorted(known[order], codes).clip(max=len(known) - 1)
        wrong = known[order][place] != codes
        if wrong.any():
            raise ValueError(self._unexpected(np.unique(codes[wrong])))
        return order[place].astype(np.uint8 if len(self) <= 256 else np.int32)

    def with_names(self, names: Sequence[str]) -> MaskLabels:
        """The same labels under other names."""
        if len(names) != len(self):
            shown = ", ".join(map(_name, self.values[:8]))
            raise ValueError(
                f"{len(names)} names were given for the {len(self)} labels of the "
                f"masks (values {shown}). Give one name per label."
            )
        return MaskLabels(self.values, self.colours, tuple(names), self.threshold)

    def as_dict(self) -> dict[str, Any]:
        """The labels as plain data, for a model file."""
        return {
            "values": [list(v) if isinstance(v, tuple) else v for v in self.values],
            "colours": [list(colour) for colour in self.colours],
            "names": list(self.names),
            "threshold": self.threshold,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> MaskLabels:
        """The labels that `as_dict` described."""
        values = [tuple(v) if isinstance(v, list) else int(v) for v in plain["values"]]
        colours = tuple(tuple(map(int, colour)) for colour in plain["colours"])
        names = tuple(map(str, plain["names"]))
        return cls(tuple(values), colours, names, plain.get("threshold"))  # type: ignore[arg-type]

    def _codes(self) -> Array:
        if self.in_colour:
            return pack(np.array(self.values, dtype=np.uint8))
        return np.array(self.values, dtype=np.int64)

    def _unexpected(self, codes: Array) -> str:
        shown = [
            _name(unpack(c) if self.in_colour else int(c)) for c in codes[:5].tolist()
        ]
        more = ", ..." if len(codes) > 5 else ""
        known = ", ".join(map(_name, self.values[:8]))
        return (
            f"has pixels of value {', '.join(shown)}{more}; the labels are {known}"
            f"{', ...' if len(self) > 8 else ''}."
        )


def pack(colours: Array) -> Array:
    """Colours (..., 3) as one number each."""
    return colours.astype(np.int64) @ np.array([0x10000, 0x100, 1])


def unpack(code: int) -> Colour:
    """The colour of a number from `pack`."""
    return int(code) >> 16, (int(code) >> 8) & 255, int(code) & 255


def distinct_colours(count: int) -> tuple[Colour, ...]:
    """Colours that are easy to tell apart: black and white, or black and bright ones.

    From the third on these are the colours of the Pascal VOC data set, in which the
    bits of a label are spread over the high bits of red, green and blue.

    Examples
    --------
    >>> distinct_colours(3)
    ((0, 0, 0), (128, 0, 0), (0, 128, 0))
    """
    if count == 2:
        return (0, 0, 0), (255, 255, 255)
    return tuple(_voc_colour(label) for label in range(count))


def _voc_colour(label: int) -> Colour:
    red = green = blue = 0
    for place in range(8):
        red |= (label & 1) << (7 - place)
        green |= (label >> 1 & 1) << (7 - place)
        blue |= (label >> 2 & 1) << (7 - place)
        label >>= 3
    return red, green, blue


def _name(value: Value) -> str:
    return (
        "#{:02x}{:02x}{:02x}".format(*value) if isinstance(value, tuple) else str(value)
    )
