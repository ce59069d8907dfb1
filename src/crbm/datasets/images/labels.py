"""How labels are written in mask files: values, colours and names of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from crbm.datasets.dataset import Array

Colour: TypeAlias = tuple[int, int, int]
Value: TypeAlias = int | Colour
UNKNOWN = -1  # the label of pixels that nobody labelled
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
    ignored
        Values of pixels that nobody labelled; they become -1.

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
    ignored: tuple[Value, ...] = ()

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
        labels = order[place]
        if self.ignored:
            return np.where(labels < len(self), labels, UNKNOWN).astype(np.int16)
        return labels.astype(np.uint8 if len(self) <= 256 else np.int32)

    def with_names(self, names: Sequence[str]) -> MaskLabels:
        """The same labels under other names."""
        if len(names) != len(self):
            shown = ", ".join(map(_name, self.values[:8]))
            raise ValueError(
                f"{len(names)} names were given for the {len(self)} labels of the "
                f"masks (values {shown}). Give one name per label."
            )
        return replace(self, names=tuple(names))

    def ignoring(self, name: str) -> MaskLabels:
        """The labels without one; its pixels count as not labelled.

        Examples
        --------
        >>> labels = MaskLabels.of_values([0, 1, 255]).ignoring("255")
        >>> labels.encode(np.array([[1, 255]]))
        array([[ 1, -1]], dtype=int16)
        """
        if name not in self.names:
            known = ", ".join(f"`{known}`" for known in self.names[:12])
            raise ValueError(f"There is no label `{name}`; the labels are {known}.")
        place = self.names.index(name)
        kept = [label for label in range(len(self)) if label != place]
        return MaskLabels(
            tuple(self.values[label] for label in kept),
            tuple(self.colours[label] for label in kept),
            tuple(self.names[label] for label in kept),
            self.threshold,
            (*self.ignored, self.values[place]),
        )

    def as_dict(self) -> dict[str, Any]:
        """The labels as plain data, for a model file."""
        return {
            "values": [_plain(value) for value in self.values],
            "colours": [list(colour) for colour in self.colours],
            "names": list(self.names),
            "threshold": self.threshold,
            "ignored": [_plain(value) for value in self.ignored],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> MaskLabels:
        """The labels that `as_dict` described."""
        return cls(
            tuple(_value(value) for value in plain["values"]),
            tuple(_colour(colour) for colour in plain["colours"]),
            tuple(map(str, plain["names"])),
            plain.get("threshold"),
            tuple(_value(value) for value in plain.get("ignored", ())),
        )

    def _codes(self) -> Array:
        values = (*self.values, *self.ignored)
        if self.in_colour:
            return pack(np.array(values, dtype=np.uint8))
        return np.array(values, dtype=np.int64)

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


def _plain(value: Value) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _value(plain: Any) -> Value:
    return _colour(plain) if isinstance(plain, list) else int(plain)


def _colour(plain: Sequence[Any]) -> Colour:
    red, green, blue = map(int, plain)
    return red, green, blue


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
