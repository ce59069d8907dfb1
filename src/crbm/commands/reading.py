"""How to read a data file; imports nothing heavy, so that `--help` stays fast."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Reading(NamedTuple):
    """What a data file does not say about itself.

    `labels`, `label_separator` and `format` are those of `crbm.datasets.read`;
    `n_labels`, `n_features` and `zero_based` are for libsvm files; `part` selects rows:
    `train`, `valid`, `test` or `all`; `drop`, `categorical` and `text` are columns of a
    table to leave out, and those whose encoding is not to be guessed.
    """

    labels: Sequence[str] | Path | int | None = None
    format: str | None = None
    n_labels: int | None = None
    n_features: int | None = None
    zero_based: bool = False
    part: str | None = None
    label_separator: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()


def parse_labels(text: str | None) -> Sequence[str] | Path | int | None:
    """Parse the value of `--labels`: names, a number, a file or `none`.

    Examples
    --------
    >>> parse_labels("dog,cat"), parse_labels("-14"), parse_labels("none")
    (('dog', 'cat'), -14, ())
    """
    if text is None:
        return None
    if text.removeprefix("-").isdigit():
        return int(text)
    if text.strip() in ("", "none"):
        return ()
    if Path(text).is_file():
        return Path(text)
    return parse_names(text)


def parse_names(text: str | None) -> tuple[str, ...]:
    """Parse names with commas between them.

    Examples
    --------
    >>> parse_names("id, date"), parse_names(None)
    (('id', 'date'), ())
    """
    names = (name.strip() for name in (text or "").split(","))
    return tuple(name for name in names if name)
