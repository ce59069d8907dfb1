"""How to read a data file; imports nothing heavy, so that `--help` stays fast."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Reading(NamedTuple):
    """What a data file does not say about itself.

    `labels` and `format` are those of `crbm.datasets.read`; `n_labels`, `n_features`
    and `zero_based` are for libsvm files; `part` selects rows: `train`, `valid`, `test`
    or `all`.
    """

    labels: Sequence[str] | Path | int | None = None
    format: str | None = None
    n_labels: int | None = None
    n_features: int | None = None
    zero_based: bool = False
    part: str | None = None


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
    return tuple(name.strip() for name in text.split(","))
