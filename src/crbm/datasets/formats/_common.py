"""Helpers for all formats: read with a size limit, report errors with their line."""

from __future__ import annotations

import gzip
import importlib
import io
import zlib
from pathlib import Path
from typing import Any

from crbm.messages import one_line
from crbm.paths import require_file

MAX_BYTES = 4 * 2**30  # default limit on the uncompressed size of a file
# Compressed files may unpack to this size, and to this multiple of their own more.
UNPACKED_FREE, UNPACKED_RATIO = 64 * 2**20, 256
MAX_INFERRED = 2**20  # most columns to infer from the largest index in a file
DEFLATE_RATIO = 1040  # deflate compresses by a factor of at most about 1032
_CHUNK = 2**20


def file_error(
    path: Path | str, problem: str, *, line: int | None = None, member: str = ""
) -> ValueError:
    """A one-line error with the file and the line or archive member.

    Examples
    --------
    >>> print(file_error("a.csv", "a label must be 0 or 1, not 2.", line=3))
    `a.csv`, line 3: a label must be 0 or 1, not 2.
    """
    place = f"`{path}`"
    if member:
        place += f", member `{member}`"
    if line is not None:
        place += f", line {line}"
    return ValueError(one_line(f"{place}: {problem}"))


def is_gzip(path: Path) -> bool:
    """Whether the content is gzip, whatever the file name."""
    with require_file(path).open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def size_limit(path: Path, max_bytes: int | None, *, packed: bool) -> int:
    """Most bytes to read from a regular file: `max_bytes`, if it is given.

    The default for a packed file grows with its size, so that a small file cannot
    fill the memory.
    """
    size = require_file(path).stat().st_size
    if max_bytes is not None:
        return max_bytes
    if not packed:
        return MAX_BYTES
    return min(MAX_BYTES, UNPACKED_FREE + UNPACKED_RATIO * size)


def open_stream(path: Path) -> io.BufferedIOBase:
    """Open the file for reading; gzip is decompressed."""
    return gzip.open(path, "rb") if is_gzip(path) else path.open("rb")


def read_bytes(path: Path, max_bytes: int | None = None) -> bytes:
    """The decompressed content; raises if it is empty or larger than allowed."""
    max_bytes = size_limit(path, max_bytes, packed=is_gzip(path))
    chunks: list[bytes] = []
    size = 0
    with open_stream(path) as stream:
        while chunk := read_exactly(path, stream, _CHUNK):
            size += len(chunk)
            if size > max_bytes:
                raise too_large_error(path, f"more than {max_bytes}", max_bytes)
            chunks.append(chunk)
    if not size:
        raise file_error(path, "the file is empty.")
    return b"".join(chunks)


def read_exactly(path: Path, stream: io.BufferedIOBase, size: int) -> bytes:
    """Read up to `size` bytes; raises an error with the file name if gzip fails."""
    try:
        return stream.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise file_error(path, f"truncated or damaged gzip ({error}).") from error


def read_text(path: Path, max_bytes: int | None = None) -> str:
    """The decompressed content as UTF-8 text."""
    content = read_bytes(path, max_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise file_error(path, "not UTF-8 text. Re-encode it.", line=line) from error


def too_large_error(
    path: Path, size: int | str, max_bytes: int, *, member: str = ""
) -> ValueError:
    """The error for a file that exceeds `max_bytes`."""
    return file_error(
        path,
        f"the uncompressed size is {size} bytes; {max_bytes} are allowed. "
        "If you trust the file, pass a larger `max_bytes` to the reader in Python.",
        member=member,
    )


def require(module: str, package: str, what: str) -> Any:
    """Import an optional module; the error says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{what} needs `{package}`. Install it with `pip install crbm[data]`."
        ) from error


def file_name(path: Path) -> str:
    """The file name without its endings, as the name of a data set."""
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]
