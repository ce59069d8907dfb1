"""Files by path: only regular ones are read, and new ones replace old ones whole."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DRAFT = ".part"  # the ending of files that are not complete yet


def require_file(path: str | Path, what: str = "data") -> Path:
    """The path, refused unless it is a regular file.

    Reading a FIFO or a device may never end. `what` names the expected content.
    """
    path = Path(path)
    if path.is_file():
        return path
    if not path.exists():
        raise FileNotFoundError(f"There is no {what} file `{path}`.")
    kind = "a folder" if path.is_dir() else "a pipe or a device"
    raise ValueError(
        f"`{path}` is {kind}; a {what} file is needed. Copy the content to a file."
    )


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A draft in the same folder, which replaces the file when the block succeeds.

    The file is complete whenever it exists, also after a power failure. A symbolic link
    stays, and the file it points to is replaced. Errors name the file, not the draft.

    Examples
    --------
    >>> file = Path(tempfile.mkdtemp(), "numbers.csv")
    >>> with replacing(file) as draft:
    ...     _ = draft.write_text("1,2")
    ...     print(file.exists())
    False
    >>> file.read_text(), len(list(file.parent.iterdir()))
    ('1,2', 1)
    """
    path, target = Path(path), follow(path)
    with _errors_of(path):
        mode = _mode(target)
        handle, name = tempfile.mkstemp(DRAFT, target.name, target.parent)
        os.close(handle)
        draft = Path(name)
        try:
            yield draft
            os.chmod(draft, mode)
            _flush(draft, os.O_RDWR)
            os.replace(draft, target)
            with suppress(PermissionError):  # Windows cannot open folders
                _flush(target.parent, os.O_RDONLY)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


def follow(path: Path) -> Path:
    """The file that a symbolic link points to; the path itself if it is none."""
    return path.resolve() if path.is_symlink() else path


def drafts(path: Path) -> list[Path]:
    """Drafts of the file that a killed process left."""
    target = follow(path)
    return [
        other
        for other in target.parent.iterdir()
        if other.name.startswith(target.name) and other.name.endswith(DRAFT)
    ]


def check_writable(path: str | Path, n_bytes: int = 0) -> None:
    """Raise unless a file of `n_bytes` could be written here now.

    A temporary file is created and removed, because permission bits are not reliable.
    """
    path = Path(path)
    target = follow(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"The folder `{target.parent}` for `{path.name}` does not exist. Create it."
        )
    if target.exists() and not target.is_file():
        raise IsADirectoryError(
            f"`{path}` is not a file, so it cannot be replaced. Choose another name."
        )
    with _errors_of(path):
        handle, name = tempfile.mkstemp(DRAFT, target.name, target.parent)
        os.close(handle)
        os.unlink(name)
    check_space(target.parent, n_bytes)


def check_space(folder: Path, n_bytes: int) -> None:
    """Raise unless the disk of a folder has room for `n_bytes`."""
    free = shutil.disk_usage(folder).free
    if free < max(n_bytes, 1):
        raise OSError(
            f"The disk of `{folder}` is full: {free / 1e6:.1f} MB are free, at least "
            f"{n_bytes / 1e6:.1f} MB are needed. Free some space, or choose another "
            "place."
        )


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Make errors of the operating system name the requested file."""
    try:
        yield
    except OSError as error:
        name = str(error.filename or "")
        # a write through an open file names none
        if error.errno is None or (name and not name.endswith(DRAFT)):
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error


def _mode(target: Path) -> int:
    """The permissions of the file to replace; those of a new file if there is none."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    current = os.umask(0)
    os.umask(current)
    return 0o666 & ~current


def _flush(path: Path, mode: int) -> None:
    """Flush a file or folder to disk, so that a power failure cannot lose it."""
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
