"""What every reader needs: bytes within a limit, errors that name the place."""

from __future__ import annotations

import gzip
import importlib
import io
import zlib
from pathlib import Path
from typing import Any

MAX_BYTES = 4 * 2**30  # what one file may unpack to, unless the caller allows more
MAX_GUESSED = 2**20  # columns made up from an index alone; more must be stated
DEFLATE_RATIO = 1040  # deflate cannot shrink by more than about 1032 to 1
_CHUNK = 2**20


def damage(
    path: Path | str, problem: str, *, line: int | None = None, member: str = ""
) -> ValueError:
    """A one-line error that names the file and the line or archive member.

    Examples
    --------
    >>> print(damage("a.csv", "a label must be 0 or 1, not 2.", line=3))
    `a.csv`, line 3: a label must be 0 or 1, not 2.
    """
    place = f"`{path}`"
    if member:
        place += f", member `{member}`"
    if line is not None:
        place += f", line {line}"
    return ValueError(f"{place}: {' '.join(problem.split())}")


def is_gzip(path: Path) -> bool:
    """Whether the file starts as gzip does, whatever its name."""
    with path.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def open_stream(path: Path) -> io.BufferedIOBase:
    """The file's bytes, unpacked on the way if it is gzip."""
    return gzip.open(path, "rb") if is_gzip(path) else path.open("rb")


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The whole file, unpacked, refused once it passes `max_bytes` or is empty."""
    chunks: list[bytes] = []
    size = 0
    with open_stream(path) as stream:
        while chunk := read_exactly(path, stream, _CHUNK):
            size += len(chunk)
            if size > max_bytes:
                raise too_large(path, f"more than {max_bytes}", max_bytes)
            chunks.append(chunk)
    if not size:
        raise damage(path, "the file is empty.")
    return b"".join(chunks)


def read_exactly(path: Path, stream: io.BufferedIOBase, size: int) -> bytes:
    """Up to `size` bytes; a broken gzip becomes an error that names the file."""
    try:
        return stream.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damage(path, f"truncated or damaged gzip ({error}).") from error


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """The whole file as UTF-8 text."""
    content = read_bytes(path, max_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise damage(path, "not UTF-8 text. Re-encode it.", line=line) from error


def too_large(
    path: Path, size: int | str, max_bytes: int, *, member: str = ""
) -> ValueError:
    """The refusal of a file that would fill the memory."""
    return damage(
        path,
        f"unpacks to {size} bytes; {max_bytes} are allowed. "
        "Pass a larger `max_bytes` if you trust it.",
        member=member,
    )


def require(module: str, package: str, what: str) -> Any:
    """The optional module, or an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{what} needs `{package}`. Install it with `pip install crbm[data]`."
        ) from error


def file_name(path: Path) -> str:
    """The name of the file without its endings, as a data set's name."""
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]
