"""One .safetensors file per model: tensors and JSON, and never any code.

Files are written beside their place and moved there whole, so a file that exists is a
file that was finished. Reading runs nothing from the file.
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
    """Write tensors and a description of plain data to one file, or nothing at all."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"The folder `{path.parent}` for `{path.name}` does not exist. Create it."
        )
    described = {"format": FORMAT, "format_version": FORMAT_VERSION, **description}
    metadata = {FORMAT: json.dumps(described, allow_nan=True)}
    packed = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    os.close(handle)
    try:
        save_file(packed, draft, metadata)
        os.chmod(draft, 0o666 & ~_umask())
        _flush(draft, os.O_RDWR)
        os.replace(draft, path)
        with suppress(PermissionError):  # Windows does not open folders
            _flush(path.parent, os.O_RDONLY)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def read(
    path: str | Path, what: str = "model"
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description of a file that `write` wrote.

    Anything else is refused: other formats, damaged files, files of a later format.
    `what` names in messages what the file should hold.
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
    """Wait until the disk has what was written, so that a power cut cannot lose it."""
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
