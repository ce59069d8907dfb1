"""Operations on units that take one pass over memory where torch takes several.

They are compiled by Numba, if it is installed (`pip install crbm[fast]`), for float32
tensors on the CPU. All other tensors go to torch, which gives the same numbers up to
rounding. Long sampling chains are the exception: they use other random bits, see
`sampling.Stream`. Samples, means and products use as many threads as torch does, and
are the same for any number of them.

Each module has a compiled twin of the same name in `kernels.compiled`.
"""

from crbm.kernels import beliefs, products
from crbm.kernels.dispatch import MIN_SIZE, available, disabled, supports
from crbm.kernels.products import dots
from crbm.kernels.units import (
    Lanes,
    RowLogits,
    bernoulli_,
    copy_rows_,
    mean_sums,
    means_of_rows,
    row_blocks,
    softplus_and_means,
    softplus_of_rows,
)

__all__ = [
    "MIN_SIZE",
    "Lanes",
    "RowLogits",
    "available",
    "beliefs",
    "bernoulli_",
    "copy_rows_",
    "disabled",
    "dots",
    "mean_sums",
    "means_of_rows",
    "products",
    "row_blocks",
    "softplus_and_means",
    "softplus_of_rows",
    "supports",
]
