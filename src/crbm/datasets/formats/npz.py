"""NPZ archives of plain arrays: `X`, `Y` and, if there are any, names and groups.

A sparse matrix is stored as `X_data`, `X_indices`, `X_indptr`, `X_shape`. Nothing
is ever unpickled, and every size is checked before an array is made.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from crbm.datasets.dataset import Array, Dataset, Matrix
from crbm.datasets.formats._columns import inputs, outputs
from crbm.datasets.formats._common import (
    DEFLATE_RATIO,
    MAX_BYTES,
    MAX_GUESSED,
    damage,
    file_name,
    too_large,
)

_PARTS = ("data", "indices", "indptr", "shape")
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError)
_UNSUPPORTED = (NotImplementedError, RuntimeError, KeyError, SyntaxError, TypeError)


def read_arrays(path: Path | str, *, max_bytes: int = MAX_BYTES) -> dict[str, Array]:
    """All arrays of the archive, each checked before it is allocated.

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
    if not path.stat().st_size:
        raise damage(path, "the file is empty.")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_sizes(path, members, max_bytes)
            return {
                _stem(path, member): _array(path, archive, member) for member in members
            }
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise damage(path, f"not a whole NPZ archive ({error}).") from error


def _check_sizes(path: Path, members: list[zipfile.ZipInfo], max_bytes: int) -> None:
    """The directory's sizes are possible, and together allowed."""
    on_disk = path.stat().st_size
    for member in members:
        possible = min(member.compress_size, on_disk) * DEFLATE_RATIO
        if member.file_size > possible:
            problem = f"{member.file_size} bytes are declared; {possible} can be there."
            raise damage(path, problem, member=member.filename)
    total = sum(member.file_size for member in members)
    if total > max_bytes:
        raise too_large(path, total, max_bytes)
    if len({member.filename for member in members}) < len(members):
        raise damage(path, "two members have one name.")


def _stem(path: Path, member: zipfile.ZipInfo) -> str:
    if not member.filename.endswith(".npy"):
        raise damage(path, "only .npy arrays are read.", member=member.filename)
    return member.filename.removesuffix(".npy")


def _array(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    try:
        with archive.open(member) as stream:
            declared = _declared(path, stream, member)
            content = stream.read(declared[3])
    except (*_BROKEN, *_UNSUPPORTED) as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        raise damage(path, f"damaged ({error}).", member=member.filename) from error
    shape, fortran, dtype, _ = declared
    values = np.frombuffer(content, dtype=dtype).reshape(
        shape, order="F" if fortran else "C"
    )
    return values.astype(dtype.newbyteorder("="))  # a copy of our own, writable


def _declared(
    path: Path, stream: Any, member: zipfile.ZipInfo
) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, order, type and payload size, as the member's header states them."""
    version = np.lib.format.read_magic(stream)
    header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if header is None:
        raise damage(path, f"unknown .npy version {version}.", member=member.filename)
    shape, fortran, dtype = header(stream)
    if dtype.hasobject or dtype.fields or dtype.subdtype:
        problem = f"holds {dtype}; pickled or nested values are refused."
        raise damage(path, problem, member=member.filename)
    size = math.prod(shape) * dtype.itemsize
    present = member.file_size - stream.tell()
    if size != present or min(shape, default=0) < 0:
        problem = (
            f"the header declares {size} bytes of shape {shape}; {present} follow."
        )
        raise damage(path, problem, member=member.filename)
    return shape, fortran, dtype, size


def read(path: Path | str, *, max_bytes: int = MAX_BYTES) -> Dataset:
    """The data set in the archive, as `write` leaves it.

    `X` and `Y` may be dense or sparse; without `Y` there are no labels. `split_*`
    arrays are the official parts; other arrays are ignored.
    """
    path = Path(path)
    arrays = read_arrays(path, max_bytes=max_bytes)
    X = _matrix(path, arrays, "X")
    if X is None:
        raise damage(path, f"no array `X`; there are {sorted(arrays)[:10]}.")
    Y = _matrix(path, arrays, "Y")
    try:
        return Dataset(
            X=_checked_inputs(path, X),
            Y=np.zeros((X.shape[0], 0), np.uint8) if Y is None else _labels(path, Y),
            name=file_name(path),
            **_extras(arrays),
        )
    except ValueError as error:
        raise error if str(path) in str(error) else damage(path, str(error)) from error


def _matrix(path: Path, arrays: Mapping[str, Array], name: str) -> Matrix | None:
    if name in arrays:
        values = arrays[name]
        if values.ndim < 2 or values.dtype.kind not in "biuf":
            found = f"{values.dtype} of shape {values.shape}"
            raise damage(
                path, f"a table of numbers is needed, not {found}.", member=name
            )
        return values.reshape(len(values), math.prod(values.shape[1:]))
    if f"{name}_data" not in arrays:
        return None
    try:
        data, indices, indptr, shape = (arrays[f"{name}_{part}"] for part in _PARTS)
        matrix = csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
    except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise damage(path, f"not a CSR matrix ({error}).", member=name) from error
    if matrix.shape[1] > MAX_GUESSED:
        problem = f"{matrix.shape[1]} columns; at most {MAX_GUESSED} are read."
        raise damage(path, problem, member=name)
    return matrix


def _checked_inputs(path: Path, X: Matrix) -> Matrix:
    """Images stay bytes; any other number becomes float32."""
    if issparse(X):
        values = inputs(path, X.data, lambda entry: entry)
        return csr_array((values, X.indices, X.indptr), shape=X.shape)
    if X.dtype in (np.uint8, np.bool_):
        return X.astype(np.uint8)
    return inputs(path, X, lambda row: row + 1)


def _labels(path: Path, Y: Matrix) -> Matrix:
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
    """Write matrices, names, splits and groups; never a pickle."""
    arrays: dict[str, Any] = {**_stored("X", data.X), **_stored("Y", data.Y)}
    arrays["feature_names"] = np.array(data.feature_names, dtype=np.str_)
    arrays["label_names"] = np.array(data.label_names, dtype=np.str_)
    arrays |= {f"split_{name}": rows for name, rows in data.splits.items()}
    if data.groups is not None:
        arrays["groups"] = data.groups
    with Path(path).open("wb") as stream:  # a stream keeps the name as given
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def _stored(name: str, matrix: Matrix) -> dict[str, Any]:
    if not issparse(matrix):
        return {name: matrix}
    parts = (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape))
    return {f"{name}_{part}": value for part, value in zip(_PARTS, parts, strict=True)}
