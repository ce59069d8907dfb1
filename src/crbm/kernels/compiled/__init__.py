"""The kernels in the part of Python that Numba compiles. Importing it needs Numba."""

from crbm.kernels.compiled.beliefs import bipartite, pairwise
from crbm.kernels.compiled.products import add_products, count_nonzero, dots
from crbm.kernels.compiled.threads import IS_AVAILABLE as HAS_THREADS
from crbm.kernels.compiled.units import (
    bernoulli_,
    bernoulli_from_lanes_,
    bernoulli_from_logits_,
    copy_rows,
    means_of_rows,
    random_words,
    seed,
    softplus_and_means,
    softplus_of_rows,
)

__all__ = [
    "HAS_THREADS",
    "add_products",
    "bernoulli_",
    "bernoulli_from_lanes_",
    "bernoulli_from_logits_",
    "bipartite",
    "copy_rows",
    "count_nonzero",
    "dots",
    "means_of_rows",
    "pairwise",
    "random_words",
    "seed",
    "softplus_and_means",
    "softplus_of_rows",
]
