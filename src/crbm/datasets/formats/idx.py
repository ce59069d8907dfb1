"""Read and write IDX files, the array format of MNIST, plain or gzip."""

from __future__ import annotations

import gzip
import io
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

from crbm.datasets.dataset import Array, Dataset
from crbm.datasets.formats._common import (
    DEFLATE_RATIO,
    file_error,
    file_name,
    is_gzip,
    open_stream,
    read_exactly,
    size_limit,
    too_large_error,
)

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_CODES = {np.dtype(kind): code for code, kind in _TYPES.items()}


def read_array(path: Path | str, *, max_bytes: int | None = None) -> Array:
    """Read one array from an IDX file, in the machine's byte order.

    The size in the header is checked against the file before memory is allocated.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "digits-idx1-ubyte.gz"
    >>> write_array(file, np.array([5, 0, 4], dtype=np.uint8))
    >>> read_array(file)
    array([5, 0, 4], dtype=uint8)
    """
    path = Path(path)
    with open_stream(path) as stream:
        kind, shape = _header(path, stream)
        size = math.prod(shape) * kind.itemsize
        _check_size(path, size, max_bytes)
        content = read_exactly(path, stream, size)
        if len(content) < size or read_exactly(path, stream, 1):
            problem = f"the header declares {size} bytes of shape {shape}; "
            actual = "fewer" if len(content) < size else "more"
            raise file_error(path, f"{problem}the file has {actual}.")
    values = np.frombuffer(content, dtype=kind).reshape(shape)
    return values.astype(kind.newbyteorder("="))


def _header(
    path: Path, stream: io.BufferedIOBase
) -> tuple[np.dtype[Any], tuple[int, ...]]:
    magic = read_exactly(path, stream, 4)
    if not magic:
        raise file_error(path, "the file is empty.")
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _TYPES:
        raise file_error(path, f"not an IDX file (wrong magic number {magic.hex()}).")
    n_axes = magic[3]
    axes = read_exactly(path, stream, 4 * n_axes)
    if len(axes) < 4 * n_axes or not 1 <= n_axes <= 8:
        problem = f"the header declares {n_axes} axes or is truncated; 1 to 8 are read."
        raise file_error(path, problem)
    return np.dtype(_TYPES[magic[2]]), struct.unpack(f">{n_axes}I", axes)


def _check_size(path: Path, size: int, max_bytes: int | None) -> None:
    on_disk = path.stat().st_size
    possible = on_disk * DEFLATE_RATIO if is_gzip(path) else on_disk
    if size > possible:
        problem = f"the header declares {size} bytes; the file cannot hold more than "
        raise file_error(path, f"{problem}{possible}.")
    allowed = size_limit(path, max_bytes, packed=is_gzip(path))
    if size > allowed:
        raise too_large_error(path, size, allowed)


def write_array(path: Path | str, values: Array) -> None:
    """Write one array; with gzip if the name ends in ``.gz``."""
    kind = values.dtype.newbyteorder(">")
    if kind not in _CODES:
        raise file_error(path, f"IDX cannot store values of type {values.dtype}.")
    header = struct.pack(
        f">BBBB{values.ndim}I", 0, 0, _CODES[kind], values.ndim, *values.shape
    )
    content = header + values.astype(kind).tobytes()
    path = Path(path)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def read(
    path: Path | str, labels: Path | None = None, *, max_bytes: int | None = None
) -> Dataset:
    """Read images as rows of `X`, and the class file `labels` as one-hot `Y`."""
    path = Path(path)
    images = read_array(path, max_bytes=max_bytes)
    if not len(images):
        raise file_error(path, "no rows.")
    X = images.reshape(len(images), -1)
    if images.dtype.kind == "f" and not np.isfinite(images).all():
        raise file_error(path, "a value is NaN or infinite. Impute or drop it.")
    if labels is None:
        outputs = np.zeros((len(X), 0), dtype=np.uint8)
    else:
        outputs = one_hot(labels, read_array(labels, max_bytes=max_bytes), len(X))
    return Dataset(
        X=X,
        Y=outputs,
        name=file_name(path),
        label_names=tuple(str(i) for i in range(outputs.shape[1])),
        input_shape=images.shape[1:],
    )


def one_hot(path: Path, classes: Array, n_rows: int) -> Array:
    """One column per class 0, 1, ...; `path` is the file of the classes."""
    if classes.shape != (n_rows,) or classes.dtype.kind not in "iu":
        actual = f"{classes.dtype} of shape {classes.shape}"
        raise file_error(path, f"{n_rows} class numbers are needed, not {actual}.")
    if not 0 <= classes.min() <= classes.max() < 1024:
        raise file_error(path, "class numbers must be in 0..1023.")
    outputs = np.zeros((n_rows, int(classes.max()) + 1), dtype=np.uint8)
    outputs[np.arange(n_rows), classes] = 1
    return outputs
