"""Downloads with pooch: checksum first, then an atomic rename into the cache."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pooch
import requests
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from crbm.datasets.registry import File

_TIMEOUT = 30


class DownloadError(OSError):
    """No source of the file could be reached, or none sent the whole of it."""


def download(file: File, folder: Path, *, progress: bool = True) -> Path:
    """The file in `folder`, fetched from the first source that has it.

    pooch writes to a temporary name and renames only once the transfer is whole and
    the checksum right, so a file of the proper name is never half a file.

    Parameters
    ----------
    file
        The entry of the registry.
    folder
        The data folder; the file goes to `file.path` below it.
    progress
        Show a bar, if standard error is a terminal.

    Raises
    ------
    ValueError
        If a source sent something else: the checksum differs.
    DownloadError
        If no source could be reached.
    """
    target = folder / file.path
    reasons = []
    for url in file.urls:
        try:
            return _retrieve(file, url, target, progress)
        except (requests.RequestException, ValueError, OSError) as error:
            reasons.append((url, error))
    told = "; ".join(f"{url}: {_brief(error)}" for url, error in reasons)
    if any(_is_checksum(error) for _, error in reasons):
        raise ValueError(f"`{file.name}` does not have its checksum ({told}).")
    raise DownloadError(f"`{file.name}` could not be downloaded ({told}).")


def _retrieve(file: File, url: str, target: Path, progress: bool) -> Path:
    bar = _Bar(file.name, show=progress)
    answers: list[requests.Response] = []
    downloader = pooch.HTTPDownloader(
        progressbar=bar,
        chunk_size=2**16,
        timeout=_TIMEOUT,
        hooks={"response": lambda answer, **_: answers.append(answer)},
    )
    try:
        with _quiet(pooch.get_logger()):
            found = pooch.retrieve(
                url,
                known_hash=f"sha256:{file.sha256}" if file.sha256 else None,
                fname=target.name,
                path=target.parent,
                downloader=downloader,
            )
    finally:
        bar.close()
        for answer in answers:  # pooch leaves the connection of a failure open
            answer.close()
    return Path(found)


def _is_checksum(error: Exception) -> bool:
    is_request = isinstance(error, requests.RequestException)
    return isinstance(error, ValueError) and not is_request


def _brief(error: Exception) -> str:
    if _is_checksum(error):
        return "the content has another checksum"
    response = getattr(error, "response", None)
    status = f" {response.status_code}" if response is not None else ""
    return f"{type(error).__name__}{status}"


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """pooch reports to the log what the bar already shows."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


class _Bar:
    """The four things pooch asks of a progress bar, done by rich."""

    def __init__(self, title: str, *, show: bool) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            console=console,
            disable=not (show and console.is_terminal),
        )
        self._task = self._progress.add_task(title, total=None)
        self._progress.start()

    @property
    def total(self) -> int | float | None:
        """Size of the download, 0 where the server does not say."""
        return self._progress.tasks[0].total

    @total.setter
    def total(self, size: int | float | None) -> None:
        self._progress.update(self._task, total=size or None)

    def update(self, size: int) -> None:
        """Advance by `size` bytes."""
        self._progress.advance(self._task, size)

    def reset(self) -> None:
        """Back to the start; pooch fills the bar from there."""
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._progress.stop()
