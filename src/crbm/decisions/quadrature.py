"""Means over independent labels as integrals: the mean of 1 / (|v| + c).

1 / (|v| + c) is the integral of t^(|v| + c - 1) over 0 < t < 1, and the mean of t^|v|
is a product over the labels. The integrand is a polynomial, so n Gauss-Legendre nodes
are exact up to degree 2n - 1; fewer than that reach rounding error because the
integrand is smooth.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch
from numpy.polynomial.legendre import leggauss
from torch import Tensor


def count_nodes(product: Tensor) -> int:
    """Nodes that give a relative error of about 1e-9 for answers up to 9 times |v|."""
    largest = float(product.sum(1).max())
    return min(product.shape[1] + 1, 8 + math.ceil(9.5 * math.sqrt(largest)))


def nodes(n_nodes: int, *, like: Tensor) -> tuple[Tensor, Tensor]:
    """Places and weights of the nodes in (0, 1)."""
    t, weight = _nodes(n_nodes)
    return torch.as_tensor(t).to(like), torch.as_tensor(weight).to(like)


def factors(product: Tensor, t: Tensor) -> Tensor:
    """The mean of t^v_i of each label, 1 - p_i + p_i t, (cases, nodes, labels)."""
    return 1 - product[:, None] * (1 - t)[:, None]


@cache
def _nodes(n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    t, weight = leggauss(n_nodes) if n_nodes else (np.zeros(0), np.zeros(0))
    return (t + 1) / 2, weight / 2
