"""The named data sets: files, checksums, sources, licences and citations.

The library contains no data, only where to get it.
"""

from __future__ import annotations

from crbm.datasets.entries import images, multi_label, sequences_and_targets
from crbm.datasets.entries.entry import Entry, File

__all__ = ["ENTRIES", "Entry", "File", "describe", "names"]

ENTRIES = {
    entry.name: entry
    for module in (multi_label, images, sequences_and_targets)
    for entry in module.ENTRIES
}


def names() -> tuple[str, ...]:
    """The names of the data sets that `load` can load.

    Examples
    --------
    >>> "yeast" in names()
    True
    """
    return tuple(ENTRIES)


def describe(name: str) -> Entry:
    """Title, files, licence and citation of the data set `name`.

    Examples
    --------
    >>> describe("yeast").title
    'Yeast gene functions: 2417 x 103 -> 14'
    """
    if name not in ENTRIES:
        known = ", ".join(f"`{known}`" for known in ENTRIES)
        raise ValueError(
            f"There is no data set `{name}`. The names are {known}. "
            "To read your own file, use `crbm.datasets.read`."
        )
    return ENTRIES[name]
