"""Download files with pooch, check their checksums and put them in the cache."""

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
    """No source of the file could be reached, or none sent the complete file."""


def download(file: File, folder: Path, *, progress: bool = True) -> Path:
    """Download `file` into `folder` from the first source that has it.

    pooch writes to a temporary name and renames the file only after checking its
    checksum, so an interrupted download never leaves an incomplete file.

    Parameters
    ----------
    file
        The file and its sources.
    folder
        The data folder; the file is written to `file.path` inside it.
    progress
        Show a progress bar if standard error is a terminal.

    Raises
    ------
    ValueError
        If a source sent a file with another checksum.
    DownloadError
        If no source could be reached.
    """
    target = folder / file.path
    failures = []
    for url in file.urls:
        try:
            return _retrieve(file, url, target, progress)
        except (requests.RequestException, ValueError, OSError) as error:
            failures.append((url, error))
    reasons = "; ".join(f"{url}: {_reason(error)}" for url, error in failures)
    if any(_is_checksum_error(error) for _, error in failures):
        raise ValueError(f"`{file.name}` does not have its checksum ({reasons}).")
    raise DownloadError(f"`{file.name}` could not be downloaded ({reasons}).")


def _retrieve(file: File, url: str, target: Path, progress: bool) -> Path:
    bar = _Bar(file.name, show=progress)
    responses: list[requests.Response] = []
    downloader = pooch.HTTPDownloader(
        progressbar=bar,
        chunk_size=2**16,
        timeout=_TIMEOUT,
        hooks={"response": lambda response, **_: responses.append(response)},
    )
    try:
        with _warnings_only(pooch.get_logger()):
            saved_to = pooch.retrieve(
                url,
                known_hash=f"sha256:{file.sha256}" if file.sha256 else None,
                fname=target.name,
                path=target.parent,
                downloader=downloader,
            )
    finally:
        bar.close()
        for response in responses:  # pooch does not close failed connections
            response.close()
    return Path(saved_to)


def _is_checksum_error(error: Exception) -> bool:
    is_request = isinstance(error, requests.RequestException)
    return isinstance(error, ValueError) and not is_request


def _reason(error: Exception) -> str:
    if _is_checksum_error(error):
        return "the content has another checksum"
    response = getattr(error, "response", None)
    status = f" {response.status_code}" if response is not None else ""
    return f"{type(error).__name__}{status}"


@contextmanager
def _warnings_only(logger: logging.Logger) -> Iterator[None]:
    """Suppress log messages that repeat what the progress bar shows."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


class _Bar:
    """rich's progress bar with the interface that pooch expects."""

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
        """Size of the download in bytes, None if the server does not send it."""
        return self._progress.tasks[0].total

    @total.setter
    def total(self, size: int | float | None) -> None:
        self._progress.update(self._task, total=size or None)

    def update(self, size: int) -> None:
        """Advance by `size` bytes."""
        self._progress.advance(self._task, size)

    def reset(self) -> None:
        """Go back to 0; pooch then fills the bar at the end of the download."""
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        """Stop updating the bar."""
        self._progress.stop()
