"""The description of a named data set."""

from __future__ import annotations

from dataclasses import dataclass

UNSTATED = "not stated by the publisher; for research, not redistributed here"
MNIH = (
    "Mnih, Larochelle, Hinton: Conditional restricted Boltzmann machines for "
    "structured output prediction. UAI, 2011."
)


@dataclass(frozen=True)
class File:
    """One file of a data set: its path in a data folder, its checksum, its sources.

    It may be a whole folder of files; its checksum is then that of their names and
    checksums.
    """

    path: str
    sha256: str | None = None
    urls: tuple[str, ...] = ()
    is_folder: bool = False

    @property
    def name(self) -> str:
        """The file name, without its folder."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Entry:
    """A named data set.

    `alternatives` are files with the same content as `files`; `embedded` is the PyPI
    package that contains the data, if there is one.
    """

    name: str
    title: str
    page: str
    citation: str
    licence: str = UNSTATED
    files: tuple[File, ...] = ()
    alternatives: tuple[File, ...] = ()
    embedded: str | None = None
