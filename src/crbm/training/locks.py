"""Lock files, so that only one run at a time uses a checkpoint."""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

try:
    fcntl: Any = importlib.import_module("fcntl")
except ImportError:  # Windows, where nothing is locked
    fcntl = None


@contextmanager
def file_lock(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path` inside this context; raises if another run holds it.

    The operating system releases the lock of a process that dies, so a lock file that
    it leaves does no harm. `what` is the name of the locked object for the message.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "run.lock")
    >>> with file_lock(file, "the run"):
    ...     file.read_text().split()[0] == str(os.getpid())
    True
    >>> file.exists()
    False
    """
    if fcntl is None:
        yield
        return
    handle = _acquire(path, what)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(handle)


def _acquire(path: Path, what: str) -> int:
    """An open handle that holds the lock."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(handle, 200, 0).decode(errors="replace")
            os.close(handle)
            raise _refusal(what, owner) from error
        if _is_current(handle, path):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)
            return handle
        os.close(handle)  # the run before has just removed it


def _is_current(handle: int, path: Path) -> bool:
    """Whether the path still leads to the file that was opened."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def _refusal(what: str, owner: str) -> OSError:
    pid, _, host = owner.strip().partition(" ")
    where = f"process {pid} on {host}" if pid.isdigit() else "another process"
    return BlockingIOError(
        f"{what} is in use by {where}. Wait for that run to end, or choose another "
        "place."
    )
