"""Read and write the binary bodies of requests: one array in NumPy's .npy format.

The header is matched, not evaluated, and sizes are checked before memory is allocated.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from fastapi import Response
from jaxtyping import Float

from crbm.estimators import LabelSetClassifier
from crbm.web.guards import ARRAY_TYPE
from crbm.web.parsing import check_range
from crbm.web.prediction import Case, InputError
from crbm.web.schemas import LARGEST_BATCH

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<>|]?(?:f[248]|[iu][1248]|b1))', 'fortran_order': (True|False), "
    rb"'shape': \((\d{1,9}), ?(\d{1,9})?\), ?\}\s*"
)
_SCHEMA = {"schema": {"type": "string", "format": "binary"}}
REQUEST_BODY = {
    "required": True,
    "description": "An array of numbers as `numpy.save` writes it: one row of inputs, "
    f"or up to {LARGEST_BATCH} rows.",
    "content": {ARRAY_TYPE: _SCHEMA},
}
ANSWER = {
    "description": "p(label = 1) as an array of float32, one row per row of inputs",
    "content": {ARRAY_TYPE: _SCHEMA},
}


def read_cases(
    classifier: LabelSetClassifier, body: bytes
) -> tuple[list[Case], tuple[int, ...]]:
    """The cases of a binary body, and the shape of the array without its columns."""
    if hasattr(classifier, "encoder_"):
        raise InputError("The model takes named columns; send JSON to `predict`.")
    values = read_array(body)
    rows, n_inputs = np.atleast_2d(values), classifier.n_features_in_
    if rows.shape[1] != n_inputs:
        raise InputError(f"A row needs {n_inputs} numbers; got {rows.shape[1]}.")
    if not 1 <= len(rows) <= LARGEST_BATCH:
        raise InputError(f"Send 1 to {LARGEST_BATCH} rows; got {len(rows)}.")
    for place, row in enumerate(rows):
        try:
            check_range(classifier, row)
        except InputError as error:
            raise InputError(f"Case {place}: {error}") from error
    return [Case(row) for row in rows], values.shape[:-1]


def read_array(body: bytes) -> np.ndarray:
    """The array of a .npy file with one or two axes, as float64.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> np.save(file, np.eye(2, dtype=np.uint8))
    >>> read_array(file.getvalue())
    array([[1., 0.],
           [0., 1.]])
    """
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(body[len(_MAGIC) : start], "little")
    header = _HEADER.fullmatch(body[start:end])
    if not body.startswith(_MAGIC) or header is None:
        raise InputError(
            "The body is not a .npy file of numbers with one or two axes; write it "
            "with `numpy.save`."
        )
    kind, fortran = np.dtype(header[1].decode()), header[2] == b"True"
    shape = tuple(int(size) for size in header.groups()[2:] if size is not None)
    n_bytes = int(np.prod(shape, dtype=object)) * kind.itemsize
    if len(body) - end != n_bytes:
        raise InputError(
            f"The header declares {n_bytes} bytes of shape {shape}; "
            f"{len(body) - end} follow."
        )
    values = np.frombuffer(body, kind, offset=end)
    return values.reshape(shape, order="F" if fortran else "C").astype(np.float64)


def array_response(
    probabilities: Sequence[np.ndarray], shape: tuple[int, ...]
) -> Response:
    """The answer with the probabilities of each case."""
    values: Float[np.ndarray, "..."] = np.asarray(probabilities, dtype=np.float32)
    values = values.reshape(*shape, -1)
    return Response(_header(values.shape) + values.tobytes(), media_type=ARRAY_TYPE)


@lru_cache(maxsize=16)
def _header(shape: tuple[int, ...]) -> bytes:
    """The header of a .npy file of float32 numbers; writing it takes NumPy 30 us."""
    file = io.BytesIO()
    described = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()
