"""Model files: tensors and a JSON description in one .safetensors file.

A file replaces an older one only when it is complete. It holds a digest of its
contents, which reading checks. Reading executes no code from the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from crbm import paths
from crbm.messages import one_line

FORMAT = "crbm"
FORMAT_VERSION = 2  # 1 had no digest
# Endings that promise another kind of file.
OTHER_KINDS = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".npz", ".onnx", ".json")


def write(
    path: str | Path, tensors: Mapping[str, Tensor], description: Mapping[str, Any]
) -> None:
    """Write tensors and a JSON-compatible description to one file, atomically."""
    path = Path(path)
    if path.suffix.lower() in OTHER_KINDS:
        raise ValueError(
            f"The file is a .safetensors file, and `{path.name}` ends in "
            f"`{path.suffix}`. Name it `{path.with_suffix('.safetensors').name}`."
        )
    if not paths.follow(path).parent.is_dir():
        raise FileNotFoundError(
            f"The folder `{path.parent}` for `{path.name}` does not exist. Create it."
        )
    packed = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    content = {"format": FORMAT, "format_version": FORMAT_VERSION, **description}
    content = json.loads(json.dumps(content))  # as it will be read
    content["digest"] = digest(packed, content)
    with paths.replacing(path) as draft:
        try:
            save_file(packed, draft, {FORMAT: json.dumps(content)})
        except SafetensorError as error:
            raise _system_error(error, path) from error


def read(
    path: str | Path, what: str = "model"
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description in a file of `write`.

    Raises for other formats, damaged files and files of a later format version. Files
    of format 1 have no digest and are read without that check. `what` names the
    expected content in error messages.
    """
    path = paths.require_file(path, what)
    try:
        with safe_open(path, framework="pt") as file:
            description = _description(path, file.metadata(), what)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise _damaged(path, what, error) from error
    stored = description.pop("digest", None)
    has_digest = description["format_version"] > 1
    if has_digest and stored != digest(tensors, description):
        raise ValueError(
            f"`{path}` is damaged: its contents do not have the digest that was stored "
            "with them. Restore it from a copy."
        )
    return tensors, description


def read_description(path: str | Path, what: str = "model") -> dict[str, Any]:
    """The description in a file of `write`; its tensors are not read."""
    path = paths.require_file(path, what)
    try:
        with safe_open(path, framework="pt") as file:
            return _description(path, file.metadata(), what)
    except SafetensorError as error:
        raise _damaged(path, what, error) from error


def _damaged(path: Path, what: str, error: SafetensorError) -> ValueError:
    return ValueError(
        f"`{path}` is not a {what} file of crbm, or it is damaged: "
        f"{one_line(str(error))}."
    )


def digest(tensors: Mapping[str, Tensor], description: Mapping[str, Any]) -> str:
    """The SHA-256 of a description and of the names, types and values of tensors.

    Examples
    --------
    >>> one, other = torch.zeros(2), torch.tensor([0.0, 1e-30])
    >>> digest({"w": one}, {}) == digest({"w": other}, {})
    False
    """
    checksum = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        checksum.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        # not `reshape`: the stride of a single number may be 0, which `view` refuses
        flat = tensor.as_strided((tensor.numel(),), (1,))
        checksum.update(flat.view(torch.uint8).numpy().data)
    return f"sha256:{checksum.hexdigest()}"


def _description(
    path: Path, metadata: dict[str, str] | None, what: str
) -> dict[str, Any]:
    """The description of a file, refused unless this version can read it."""
    try:
        description = json.loads((metadata or {})[FORMAT])
        kind, version = description["format"], description["format_version"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"`{path}` is a safetensors file, but not a {what} of crbm: it has no "
            "description that can be read."
        ) from error
    if kind != FORMAT or type(version) is not int or version < 1:
        raise ValueError(
            f"`{path}` is not a {what} of crbm: its description says format "
            f"{one_line(str(kind), 40)!r}, version {one_line(str(version), 40)}."
        )
    if version > FORMAT_VERSION:
        later = one_line(str(version), 40)
        raise ValueError(
            f"`{path}` has format {later}, written by a later crbm; this one reads up "
            f"to {FORMAT_VERSION}. Upgrade crbm to load it."
        )
    return dict(description)


def _system_error(error: SafetensorError, path: Path) -> OSError:
    """The error of the system inside an error of safetensors, such as a full disk."""
    code = re.search(r"os error (\d+)", str(error))
    if code is None:
        return OSError(f"`{path}` could not be written: {one_line(str(error))}.")
    number = int(code[1])
    return OSError(number, os.strerror(number), str(path))
