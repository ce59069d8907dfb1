"""IDX, the array format of MNIST, plain or gzip."""

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
    MAX_BYTES,
    damage,
    file_name,
    is_gzip,
    open_stream,
    read_exactly,
    too_large,
)

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_CODES = {np.dtype(kind): code for code, kind in _TYPES.items()}


def read_array(path: Path | str, *, max_bytes: int = MAX_BYTES) -> Array:
    """The array of one IDX file, in the machine's byte order.

    The size that the header declares is checked against the file before anything
    is allocated.

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
            found = "fewer" if len(content) < size else "more"
            raise damage(path, f"{problem}the file holds {found}.")
    values = np.frombuffer(content, dtype=kind).reshape(shape)
    return values.astype(kind.newbyteorder("="))


def _header(
    path: Path, stream: io.BufferedIOBase
) -> tuple[np.dtype[Any], tuple[int, ...]]:
    magic = read_exactly(path, stream, 4)
    if not magic:
        raise damage(path, "the file is empty.")
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _TYPES:
        raise damage(path, f"wrong magic number {magic.hex()}; this is no IDX file.")
    n_axes = magic[3]
    axes = read_exactly(path, stream, 4 * n_axes)
    if len(axes) < 4 * n_axes or not 1 <= n_axes <= 8:
        problem = f"{n_axes} axes are declared; 1 to 8 whole ones are needed."
        raise damage(path, problem)
    return np.dtype(_TYPES[magic[2]]), struct.unpack(f">{n_axes}I", axes)


def _check_size(path: Path, size: int, max_bytes: int) -> None:
    on_disk = path.stat().st_size
    possible = on_disk * DEFLATE_RATIO if is_gzip(path) else on_disk
    if size > possible:
        problem = f"the header declares {size} bytes; the file cannot hold more than "
        raise damage(path, f"{problem}{possible}.")
    if size > max_bytes:
        raise too_large(path, size, max_bytes)


def write_array(path: Path | str, values: Array) -> None:
    """Write one array; gzip if the name ends in ``.gz``."""
    kind = values.dtype.newbyteorder(">")
    if kind not in _CODES:
        raise damage(path, f"IDX has no type for {values.dtype}.")
    header = struct.pack(
        f">BBBB{values.ndim}I", 0, 0, _CODES[kind], values.ndim, *values.shape
    )
    content = header + values.astype(kind).tobytes()
    path = Path(path)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def read(
    path: Path | str, labels: Path | None = None, *, max_bytes: int = MAX_BYTES
) -> Dataset:
    """Images as rows of `X`; classes of the IDX file `labels` as one-hot `Y`."""
    path = Path(path)
    images = read_array(path, max_bytes=max_bytes)
    if not len(images):
        raise damage(path, "no rows.")
    X = images.reshape(len(images), -1)
    if images.dtype.kind == "f" and not np.isfinite(images).all():
        raise damage(path, "a value is NaN or infinite. Impute or drop it.")
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
    """One column per class 0, 1, ...; `path` is where the classes come from."""
    if classes.shape != (n_rows,) or classes.dtype.kind not in "iu":
        found = f"{classes.dtype} of shape {classes.shape}"
        raise damage(path, f"{n_rows} class numbers are needed, not {found}.")
    if not 0 <= classes.min() <= classes.max() < 1024:
        raise damage(path, "class numbers must lie in 0..1023.")
    outputs = np.zeros((n_rows, int(classes.max()) + 1), dtype=np.uint8)
    outputs[np.arange(n_rows), classes] = 1
    return outputs
