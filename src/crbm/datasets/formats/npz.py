"""Read and write NPZ archives of `X`, `Y` and optional names, splits and groups.

A sparse matrix is stored as `X_data`, `X_indices`, `X_indptr`, `X_shape`. Nothing
is ever unpickled, and sizes are checked before memory is allocated.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from crbm.datasets.dataset import Array, Dataset, Matrix
from crbm.datasets.formats._columns import inputs, outputs
from crbm.datasets.formats._common import (
    DEFLATE_RATIO,
    MAX_INFERRED,
    file_error,
    file_name,
    size_limit,
    too_large_error,
)

# Most memory that reading takes, in sizes of the arrays: int8 becomes float32.
MEMORY_RATIO = 8
_PIECE = 2**20
_PARTS = ("data", "indices", "indptr", "shape")
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError)
_UNSUPPORTED = (
    NotImplementedError,
    RuntimeError,
    KeyError,
    SyntaxError,
    TypeError,
    TokenError,
)


def read_arrays(path: Path | str, *, max_bytes: int | None = None) -> dict[str, Array]:
    """Read all arrays of the archive; sizes are checked before allocation.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.npz"
    >>> np.savez_compressed(file, X=np.eye(2, dtype=np.uint8))
    >>> read_arrays(file)
    {'X': array([[1, 0],
           [0, 1]], dtype=uint8)}
    """
    path = Path(path)
    allowed = size_limit(path, max_bytes, packed=True)
    if not path.stat().st_size:
        raise file_error(path, "the file is empty.")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_sizes(path, members, allowed)
            return {
                _array_name(path, member): _read_array(path, archive, member)
                for member in members
            }
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise file_error(path, f"not a complete NPZ archive ({error}).") from error


def _check_sizes(path: Path, members: list[zipfile.ZipInfo], max_bytes: int) -> None:
    """Check that the declared sizes are possible and below `max_bytes` in total."""
    on_disk = path.stat().st_size
    for member in members:
        possible = min(member.compress_size, on_disk) * DEFLATE_RATIO
        if member.file_size > possible:
            problem = (
                f"the archive declares {member.file_size} bytes; the file cannot hold "
                f"more than {possible}."
            )
            raise file_error(path, problem, member=member.filename)
    total = sum(member.file_size for member in members)
    if total > max_bytes:
        raise too_large_error(path, total, max_bytes)
    if len({member.filename for member in members}) < len(members):
        raise file_error(path, "two members have the same name.")


def _array_name(path: Path, member: zipfile.ZipInfo) -> str:
    if not member.filename.endswith(".npy"):
        raise file_error(path, "not a .npy array.", member=member.filename)
    return member.filename.removesuffix(".npy")


def _read_array(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    try:
        with archive.open(member) as stream:
            shape, fortran, dtype, size = _read_header(path, stream, member)
            content = np.empty(size, dtype=np.uint8)
            _fill(content.data, stream)
        values = content.view(dtype).reshape(shape, order="F" if fortran else "C")
    except (*_BROKEN, *_UNSUPPORTED) as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        raise file_error(path, f"damaged ({error}).", member=member.filename) from error
    return values.astype(dtype.newbyteorder("="), copy=False)


def _fill(content: memoryview, stream: Any) -> None:
    """Read into memory that is there, to its end and that of the stream."""
    place = 0
    while place < len(content):
        count = stream.readinto(content[place : place + _PIECE])
        if not count:
            raise EOFError(f"{len(content) - place} bytes are missing")
        place += count
    stream.read(1)  # checks the checksum


def _read_header(
    path: Path, stream: Any, member: zipfile.ZipInfo
) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, whether in Fortran order, dtype and size in bytes, from the header."""
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise file_error(
            path, f"unknown .npy version {version}.", member=member.filename
        )
    shape, fortran, dtype = read(stream)
    if dtype.hasobject or dtype.fields or dtype.subdtype:
        problem = f"has type {dtype}; pickled and nested values are refused."
        raise file_error(path, problem, member=member.filename)
    size = math.prod(shape) * dtype.itemsize
    present = member.file_size - stream.tell()
    if size != present or min(shape, default=0) < 0:
        problem = (
            f"the header declares {size} bytes of shape {shape}; {present} follow."
        )
        raise file_error(path, problem, member=member.filename)
    return shape, fortran, dtype, size


def read(path: Path | str, *, max_bytes: int | None = None) -> Dataset:
    """Read a data set in the format of `write`.

    `X` and `Y` may be dense or sparse; without `Y` there are no labels. Arrays named
    `split_*` are the official splits; other arrays are ignored.
    """
    path = Path(path)
    arrays = read_arrays(path, max_bytes=max_bytes)
    X = _matrix(path, arrays, "X")
    if X is None:
        raise file_error(path, f"no array `X`; there are {sorted(arrays)[:10]}.")
    Y = _matrix(path, arrays, "Y")
    try:
        return Dataset(
            X=_to_inputs(path, X),
            Y=np.zeros((X.shape[0], 0), np.uint8)
            if Y is None
            else _to_outputs(path, Y),
            name=file_name(path),
            **_extras(arrays),
        )
    except ValueError as error:
        raise (
            error if str(path) in str(error) else file_error(path, str(error))
        ) from error


def _matrix(path: Path, arrays: Mapping[str, Array], name: str) -> Matrix | None:
    if name in arrays:
        values = arrays[name]
        if values.ndim < 2 or values.dtype.kind not in "biuf":
            actual = f"{values.dtype} of shape {values.shape}"
            raise file_error(
                path, f"a table of numbers is needed, not {actual}.", member=name
            )
        return values.reshape(len(values), math.prod(values.shape[1:]))
    if f"{name}_data" not in arrays:
        return None
    try:
        data, indices, indptr, shape = (arrays[f"{name}_{part}"] for part in _PARTS)
        matrix = csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
    except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise file_error(path, f"not a CSR matrix ({error}).", member=name) from error
    if matrix.shape[1] > MAX_INFERRED:
        problem = f"{matrix.shape[1]} columns; at most {MAX_INFERRED} are read."
        raise file_error(path, problem, member=name)
    return matrix


def _to_inputs(path: Path, X: Matrix) -> Matrix:
    """Inputs as float32; images of bytes stay uint8."""
    if issparse(X):
        values = inputs(path, X.data, lambda entry: entry)
        return csr_array((values, X.indices, X.indptr), shape=X.shape)
    if X.dtype in (np.uint8, np.bool_):
        return X.astype(np.uint8)
    return inputs(path, X, lambda row: row + 1)


def _to_outputs(path: Path, Y: Matrix) -> Matrix:
    if issparse(Y):
        values = outputs(path, Y.data, lambda entry: entry)
        return csr_array((values, Y.indices, Y.indptr), shape=Y.shape)
    return outputs(path, Y, lambda row: row + 1)


def _extras(arrays: Mapping[str, Array]) -> dict[str, Any]:
    names = {
        key: tuple(map(str, arrays[key].ravel()))
        for key in ("feature_names", "label_names")
        if key in arrays
    }
    splits = {
        key.removeprefix("split_"): values.astype(np.int64).ravel()
        for key, values in arrays.items()
        if key.startswith("split_") and values.dtype.kind in "iu"
    }
    return {**names, "splits": splits, "groups": arrays.get("groups")}


def write(path: Path | str, data: Dataset) -> None:
    """Write matrices, names, splits and groups, without pickles."""
    arrays: dict[str, Any] = {**_arrays("X", data.X), **_arrays("Y", data.Y)}
    arrays["feature_names"] = np.array(data.feature_names, dtype=np.str_)
    arrays["label_names"] = np.array(data.label_names, dtype=np.str_)
    arrays |= {f"split_{name}": rows for name, rows in data.splits.items()}
    if data.groups is not None:
        arrays["groups"] = data.groups
    with Path(path).open("wb") as stream:  # given a name, numpy would append .npz
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def _arrays(name: str, matrix: Matrix) -> dict[str, Any]:
    if not issparse(matrix):
        return {name: matrix}
    parts = (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape))
    return {f"{name}_{part}": value for part, value in zip(_PARTS, parts, strict=True)}
