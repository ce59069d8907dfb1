"""Whatever holds rows, as the arrays that NumPy and SciPy work on."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

Matrix: TypeAlias = np.ndarray | sparse.csr_array | sparse.csr_matrix


def from_torch(values: Any) -> Any:
    """A tensor as a NumPy array, or SciPy matrix if it is sparse; the rest unchanged.

    Examples
    --------
    >>> from_torch(torch.eye(2).to_sparse()).nnz
    2
    """
    if not isinstance(values, Tensor):
        return values
    values = values.detach().cpu()
    if values.layout == torch.strided:
        return values.numpy()
    values = values.to_sparse_coo().coalesce()
    where = tuple(values.indices().numpy())
    return sparse.coo_array((values.values().numpy(), where), tuple(values.shape))


def as_matrix(name: str, values: Any) -> Matrix:
    """A NumPy array or SciPy matrix in rows; also of a tensor or a frame."""
    values = from_torch(values)
    if sparse.issparse(values):
        return sparse.csr_array(values)
    values = np.asarray(values)
    if values.ndim != 2:
        raise ValueError(
            f"`{name}` must have two dimensions, one row per case; got shape "
            f"{values.shape}. Reshape a single column with {name}.reshape(-1, 1)."
        )
    if values.dtype.kind not in "biuf":
        raise TypeError(
            f"`{name}` must hold numbers; got dtype {values.dtype}. Encode it first, "
            "e.g. with MultiLabelBinarizer."
        )
    return values
