"""Model files: tensors and a JSON description in one .safetensors file.

A file is written under a temporary name and then renamed, so a file that exists is
complete. Reading executes no code from the file.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

FORMAT = "crbm"
FORMAT_VERSION = 1


def write(
    path: str | Path, tensors: Mapping[str, Tensor], description: Mapping[str, Any]
) -> None:
    """Write tensors and a JSON-compatible description to one file, atomically."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"The folder `{path.parent}` for `{path.name}` does not exist. Create it."
        )
    content = {"format": FORMAT, "format_version": FORMAT_VERSION, **description}
    metadata = {FORMAT: json.dumps(content, allow_nan=True)}
    packed = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    os.close(handle)
    try:
        save_file(packed, draft, metadata)
        os.chmod(draft, 0o666 & ~_umask())
        _flush(draft, os.O_RDWR)
        os.replace(draft, path)
        with suppress(PermissionError):  # Windows cannot open folders
            _flush(path.parent, os.O_RDONLY)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def read(
    path: str | Path, what: str = "model"
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description in a file of `write`.

    Raises for other formats, damaged files and files of a later format version.
    `what` names the expected content in error messages.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no {what} file `{path}`.")
    try:
        with safe_open(path, framework="pt") as file:
            description = _description(path, file.metadata(), what)
            return {name: file.get_tensor(name) for name in file.keys()}, description  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(
            f"`{path}` is not a {what} file of crbm, or it is damaged: {error}."
        ) from error


def _description(
    path: Path, metadata: dict[str, str] | None, what: str
) -> dict[str, Any]:
    try:
        description = json.loads((metadata or {})[FORMAT])
        version = int(description["format_version"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"`{path}` is a safetensors file, but not a {what} of crbm: it has no "
            "description."
        ) from error
    if version > FORMAT_VERSION:
        raise ValueError(
            f"`{path}` has format {version}, written by a later crbm; this one reads "
            f"up to {FORMAT_VERSION}. Upgrade crbm to load it."
        )
    return dict(description)


def _flush(path: str | Path, mode: int) -> None:
    """Flush a file or folder to disk, so that a power failure cannot lose it."""
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
