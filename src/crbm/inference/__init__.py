"""Inference: small functions from an energy to a named tuple."""

from crbm.inference import (
    annealing,
    couplings,
    exact,
    gibbs,
    loopy_bp,
    mean_field,
    partition,
    search,
)

__all__ = [
    "annealing",
    "couplings",
    "exact",
    "gibbs",
    "loopy_bp",
    "mean_field",
    "partition",
    "search",
]
