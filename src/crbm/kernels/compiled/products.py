"""Products of matrices that are mostly zeros, and inner products of rows."""

# mypy: disable-error-code="untyped-decorator"

from typing import no_type_check

import numpy as np
from numba import float32, intp, njit, void

from crbm.kernels.compiled.numerics import FASTMATH, ZERO
from crbm.kernels.compiled.threads import in_parts

# Threads take turns by blocks of this many rows: neighbouring rows of an image's pixels
# are alike in their number of zeros.
N_ROWS = 16
_BY_ROWS, _BY_COLUMNS, _VECTOR = float32[:, ::1], float32[::1, :], float32[::1]
_OF_PRODUCTS = [
    void(intp, intp, x, _BY_ROWS, float32, _BY_ROWS) for x in (_BY_ROWS, _BY_COLUMNS)
]
_OF_DOTS = void(intp, intp, _BY_ROWS, _BY_ROWS, _VECTOR)


@njit(nogil=True, cache=True)
@no_type_check
def count_nonzero(x):
    """The number of nonzero elements."""
    count = 0
    for row in range(x.shape[0]):
        for place in range(x.shape[1]):
            count += x[row, place] != ZERO
    return count


@njit(_OF_PRODUCTS, fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def _add_products(part, n_parts, x, y, scale, total):
    """Add a part of the rows of scale * X Y, four rows of Y at a time.

    Then each sum is read and written once for four rows; that traffic is most of the
    work.
    """
    nonzero = np.empty(x.shape[1] + 1, dtype=np.int64)
    for first_row in range(N_ROWS * part, x.shape[0], N_ROWS * n_parts):
        for row in range(first_row, min(first_row + N_ROWS, x.shape[0])):
            n_nonzero = 0
            for place in range(x.shape[1]):
                nonzero[n_nonzero] = place  # overwritten by the next if x is 0 here
                n_nonzero += x[row, place] != ZERO
            n_in_fours = n_nonzero // 4 * 4
            for first in range(0, n_in_fours, 4):
                a, b = nonzero[first], nonzero[first + 1]
                c, d = nonzero[first + 2], nonzero[first + 3]
                of_a, of_b = scale * x[row, a], scale * x[row, b]
                of_c, of_d = scale * x[row, c], scale * x[row, d]
                for unit in range(y.shape[1]):
                    one = of_a * y[a, unit] + of_b * y[b, unit]
                    other = of_c * y[c, unit] + of_d * y[d, unit]
                    total[row, unit] += one + other
            for place in nonzero[n_in_fours:n_nonzero]:
                share = scale * x[row, place]
                for unit in range(y.shape[1]):
                    total[row, unit] += share * y[place, unit]


_add_products_in_parts = in_parts(_add_products)


@njit(nogil=True, cache=True)
@no_type_check
def add_products(x, y, scale, total, n_threads):
    """Add scale * X Y to `total`."""
    _add_products_in_parts((x, y, scale, total), n_threads)


@njit(_OF_DOTS, fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def _dots(part, n_parts, x, y, total):
    for row in range(len(x) * part // n_parts, len(x) * (part + 1) // n_parts):
        one, other, row_total = x[row], y[row], ZERO
        for place in range(one.size):
            row_total += one[place] * other[place]
        total[row] = row_total


_dots_in_parts = in_parts(_dots)


@njit(nogil=True, cache=True)
@no_type_check
def dots(x, y, total, n_threads):
    """The inner product of each row of x with the same row of y."""
    _dots_in_parts((x, y, total), n_threads)
