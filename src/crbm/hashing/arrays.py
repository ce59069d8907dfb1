"""Conversion of tensors, frames and matrices to NumPy and SciPy arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

Matrix: TypeAlias = np.ndarray | sparse.csr_array | sparse.csr_matrix


def from_torch(values: Any) -> Any:
    """A tensor as a NumPy array, or a SciPy array if sparse; other values unchanged.

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
    indices = tuple(values.indices().numpy())
    return sparse.coo_array((values.values().numpy(), indices), tuple(values.shape))


def as_matrix(name: str, values: Any) -> Matrix:
    """Values, also of a tensor or a frame, as a NumPy array or a SciPy CSR array."""
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
