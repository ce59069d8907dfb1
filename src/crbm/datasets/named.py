"""Load and fetch data sets by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

from crbm.datasets import assemble
from crbm.datasets.dataset import Dataset
from crbm.datasets.formats._common import file_error
from crbm.datasets.images.dataset import ImageDataset
from crbm.datasets.locate import DataNotFoundError, locate
from crbm.datasets.noise import denoising
from crbm.datasets.registry import Entry, describe, names

_NOISE = {"corrupted-mnist": "corrupted", "occluded-mnist": "occluded"}


@overload
def load(  # type: ignore[overload-overlap]
    name: Literal["camvid", "horses-full"],
    path: Path | str | None = None,
    *,
    download: bool = True,
    verify: bool = True,
    progress: bool = True,
) -> ImageDataset: ...
@overload
def load(
    name: str,
    path: Path | str | None = None,
    *,
    download: bool = True,
    verify: bool = True,
    progress: bool = True,
    **noise: Any,
) -> Dataset: ...
def load(
    name: str,
    path: Path | str | None = None,
    *,
    download: bool = True,
    verify: bool = True,
    progress: bool = True,
    **noise: Any,
) -> Dataset | ImageDataset:
    """Load the data set `name` from the first place that has its files.

    With `path`, only that folder is searched. Otherwise these are tried in order:
    the folder in the environment variable ``CRBM_DATA``; the user's cache; a PyPI
    package that contains the data (`yeast`, `mnist-5k`); a download from the public
    source into the cache.

    Parameters
    ----------
    name
        One of `names()`.
    path
        A folder with the files.
    download
        Whether missing files may be downloaded.
    verify
        Whether to check the checksums of files that are already on disk.
    progress
        Show a progress bar while downloading.
    **noise
        For ``corrupted-mnist`` and ``occluded-mnist``: `seed` (0), `rate` (0.1) and
        `size` (8), see `denoising`.

    Returns
    -------
    Dataset or ImageDataset
        Rows of inputs and labels; images and masks for `camvid` and `horses-full`.

    Raises
    ------
    DataNotFoundError
        If the files are missing; the message says where to get them and where to
        put them.
    ValueError
        If a file is damaged.

    Examples
    --------
    >>> data = load("yeast", download=False)
    >>> data.X.shape, data.Y.shape, data.n_label_sets
    ((2417, 103), (2417, 14), 198)
    """
    entry = describe(name)
    if noise and name not in _NOISE:
        raise ValueError(f"`{name}` takes no options, but got {sorted(noise)}.")
    files = locate(entry, path, fetch=download, verify=verify, progress=progress)
    data = _assemble(entry, files)
    if name in _NOISE:
        assert isinstance(data, Dataset)
        data = denoising(data, _NOISE[name], **noise)
    return replace(
        data,
        name=name,
        licence=entry.licence,
        citation=entry.citation,
        source=entry.page,
    )


def fetch(name: str, *, progress: bool = True) -> list[Path]:
    """Paths of the files of the data set `name`, downloaded if they are missing."""
    return locate(describe(name), progress=progress)


class Available(NamedTuple):
    """A named data set and the folder or package that has it, if any."""

    name: str
    title: str
    place: str | None
    licence: str


def available() -> list[Available]:
    """All named data sets and where each is on this machine, without downloading.

    Examples
    --------
    >>> [data.name for data in available() if data.name == "mnist-5k"]
    ['mnist-5k']
    """
    return [_available(describe(name)) for name in names()]


def _available(entry: Entry) -> Available:
    try:
        files = locate(entry, fetch=False, verify=False, progress=False)
        place = str(files[0].parent) if files else entry.embedded
    except DataNotFoundError:
        place = None
    return Available(entry.name, entry.title, place, entry.licence)


def _assemble(entry: Entry, files: list[Path]) -> Dataset | ImageDataset:
    try:
        return assemble.LOADERS[entry.name](files)
    except KeyError as error:
        raise file_error(files[0], f"no array {error} in the archive.") from error
