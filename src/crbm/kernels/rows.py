"""Products with tables that are mostly zeros: sums of the rows that are wanted."""

# mypy: disable-error-code="untyped-decorator"

from typing import no_type_check

import numpy as np
from numba import njit

from crbm.kernels.loops import _FAST, _ZERO


@njit(nogil=True, cache=True)
@no_type_check
def n_others(x):
    """How many numbers are not zero."""
    n_found = 0
    for row in range(x.shape[0]):
        for place in range(x.shape[1]):
            n_found += x[row, place] != _ZERO
    return n_found


@njit(fastmath=_FAST, error_model="numpy", nogil=True, cache=True)
@no_type_check
def add_products(x, y, scale, total):
    """Add scale times the product of x and y, four rows of y at a time.

    A sum is then read and written once for all four, which is most of the work.
    """
    wanted = np.empty(x.shape[1] + 1, dtype=np.int64)
    for row in range(x.shape[0]):
        n_wanted = 0
        for place in range(x.shape[1]):
            wanted[n_wanted] = place  # overwritten by the next, unless it is wanted
            n_wanted += x[row, place] != _ZERO
        n_in_fours = n_wanted // 4 * 4
        for first in range(0, n_in_fours, 4):
            a, b = wanted[first], wanted[first + 1]
            c, d = wanted[first + 2], wanted[first + 3]
            of_a, of_b = scale * x[row, a], scale * x[row, b]
            of_c, of_d = scale * x[row, c], scale * x[row, d]
            for unit in range(y.shape[1]):
                one = of_a * y[a, unit] + of_b * y[b, unit]
                other = of_c * y[c, unit] + of_d * y[d, unit]
                total[row, unit] += one + other
        for place in wanted[n_in_fours:n_wanted]:
            share = scale * x[row, place]
            for unit in range(y.shape[1]):
                total[row, unit] += share * y[place, unit]
