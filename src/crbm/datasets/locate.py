"""Find the files of a named data set, and download them if they are missing."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pooch

from crbm.datasets import embedded
from crbm.datasets.download import DownloadError, download
from crbm.datasets.registry import Entry, File

VARIABLE = "CRBM_DATA"


class DataNotFoundError(FileNotFoundError):
    """The files of a data set are missing and could not be downloaded."""


def cache_folder() -> Path:
    """The folder for downloads: the operating system's cache folder for `crbm`."""
    return Path(pooch.os_cache("crbm"))


def locate(
    entry: Entry,
    path: Path | str | None = None,
    *,
    fetch: bool = True,
    verify: bool = True,
    progress: bool = True,
) -> list[Path]:
    """Paths of the files of `entry`, in its order.

    Searched in this order: folders, a PyPI package that contains the data, the
    network.

    Parameters
    ----------
    entry
        The data set.
    path
        The only folder to search; by default `CRBM_DATA`, if set, and the cache. A
        file may be at its path of the registry or directly in the folder.
    fetch
        Whether to download missing files into the cache.
    verify
        Whether to check the checksums of files that are already on disk.
    progress
        Show a progress bar while downloading.
    """
    choices = [files for files in (entry.files, entry.alternatives) if files]
    for files in choices:
        places = [_find(file, path, verify) for file in files]
        if all(places):
            return [place for place in places if place]
    packaged = _find_in_package(entry, path)
    if packaged:
        return [packaged]
    if path is None and fetch:
        for files in choices:
            if all(file.urls for file in files):
                return _download(entry, files, verify, progress)
    raise DataNotFoundError(_not_found_message(entry, path))


def _find_in_package(entry: Entry, path: Path | str | None) -> Path | None:
    if entry.embedded is None or (path is not None and entry.files):
        return None
    place = embedded.find_file(entry.embedded)
    if place is None and not entry.files:
        raise DataNotFoundError(
            f"Data set `{entry.name}` comes with `{entry.embedded}`, which is not "
            "installed. Install it with `pip install crbm[data]`."
        )
    return place


def _find(file: File, path: Path | str | None, verify: bool) -> Path | None:
    for folder in _folders(path):
        for place in _places(folder, file):
            is_there = place.is_dir() if file.is_folder else place.is_file()
            if is_there and _is_intact(file, place, verify):
                return place
    return None


def _places(folder: Path, file: File) -> tuple[Path, ...]:
    """Where a file may be; a name such as `images` alone does not identify a folder."""
    own = folder / file.path
    return (own,) if file.is_folder else (own, folder / file.name)


def _folders(path: Path | str | None) -> list[Path]:
    if path is not None:
        return [Path(path)]
    configured = os.environ.get(VARIABLE)
    return [*([Path(configured)] if configured else []), cache_folder()]


def _is_intact(file: File, place: Path, verify: bool) -> bool:
    """Whether the checksum matches; raises if it does not and the file is not ours.

    A damaged file in the cache is downloaded again.
    """
    if file.sha256 is None or not verify:
        return True
    if sha256(place) == file.sha256:
        return True
    if place.is_relative_to(cache_folder()):
        return False
    raise ValueError(
        f"`{place}` does not have the checksum of `{file.name}` "
        f"(sha256 {file.sha256}): it is damaged or another version. "
        "Replace it, or pass `verify=False`."
    )


def sha256(path: Path) -> str:
    """SHA-256 checksum of a file, or of the names and checksums in a folder."""
    if path.is_dir():
        lines = [f"{sha256(file)}  {file.name}\n" for file in sorted(path.iterdir())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _download(
    entry: Entry, files: tuple[File, ...], verify: bool, progress: bool
) -> list[Path]:
    places = []
    for file in files:
        place = _find(file, None, verify)
        if place is None:
            try:
                place = download(file, cache_folder(), progress=progress)
            except DownloadError as error:
                message = _not_found_message(entry, None, str(error))
                raise DataNotFoundError(message) from error
        places.append(place)
    return places


def _not_found_message(entry: Entry, path: Path | str | None, reason: str = "") -> str:
    """Which files are missing, where to get them and where to put them."""
    folder = Path(path) if path is not None else cache_folder()
    choices = [files for files in (entry.files, entry.alternatives) if files]
    expected = " or ".join(
        ", ".join(f"`{file.path}`" for file in files) for files in choices
    )
    urls = [url for file in (*entry.files, *entry.alternatives) for url in file.urls]
    folders = dict.fromkeys(url.rsplit("/", 1)[0] + "/" for url in urls)
    sources = " or ".join(dict.fromkeys([entry.page, *folders]))
    why = f" {reason}" if reason else ""
    return (
        f"Data set `{entry.name}` was not found.{why} Get {expected} from {sources} "
        f"and put them in `{folder}`, or set `{VARIABLE}` to a folder that has them."
    )
