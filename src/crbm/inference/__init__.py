"""Inference: small functions from an energy to a named tuple."""

from crbm.inference import (
    annealing,
    couplings,
    diagnostics,
    exact,
    gibbs,
    loopy_bp,
    mean_field,
    partition,
    search,
    tempering,
)

__all__ = [
    "annealing",
    "couplings",
    "diagnostics",
    "exact",
    "gibbs",
    "loopy_bp",
    "mean_field",
    "partition",
    "search",
    "tempering",
]
