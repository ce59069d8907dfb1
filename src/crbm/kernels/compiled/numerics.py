"""Float32 constants and functions that the compiler can vectorise.

Exponential and logarithm are written out: a call of the math library would keep the
compiler from computing eight units at a time.
"""

# mypy: disable-error-code="untyped-decorator"

import math
from typing import no_type_check

import numpy as np
from numba import njit
from numpy import float32, int32
from numpy.polynomial import Chebyshev, Polynomial

FASTMATH = {"contract", "nsz", "arcp", "reassoc"}  # all but the flags that break NaN
ZERO, HALF, ONE, TWO = (float32(x) for x in (0, 0.5, 1, 2))
MAX_EXPONENT = float32(80)  # e^80 and e^-80 are both float32 numbers
_LOG2_E, _LOG_2 = float32(1 / math.log(2)), float32(math.log(2))
_SERIES = Chebyshev.interpolate(np.exp, 6, (-math.log(2) / 2, math.log(2) / 2))
_C0, _C1, _C2, _C3, _C4, _C5, _C6 = map(float32, _SERIES.convert(kind=Polynomial).coef)
_ROOT_2 = float32(math.sqrt(2))
_S3, _S5, _S7, _S9 = (float32(2 / n) for n in (3, 5, 7, 9))
_EXPONENT_BIAS, _N_FRACTION_BITS = int32(127), int32(23)  # of float32
_FRACTION_MASK, _EXPONENT_OF_1 = int32(2**23 - 1), int32(127 << 23)


@njit(inline="always")
@no_type_check
def exp(x):
    """e^x = 2^k e^r, where |r| <= log(2) / 2, so that a polynomial suffices."""
    k = np.floor(x * _LOG2_E + HALF)
    r = x - k * _LOG_2
    power = int32((int32(k) + int32(127)) << int32(23)).view(np.float32)
    high = ((_C6 * r + _C5) * r + _C4) * r + _C3
    return (((high * r + _C2) * r + _C1) * r + _C0) * power


@njit(inline="always")
@no_type_check
def log1p(y):
    """log(1 + y) = k log(2) + log(1 + f), by a series in s = f / (2 + f)."""
    word = float32(ONE + y).view(np.int32)
    scaled = int32((word & _FRACTION_MASK) | _EXPONENT_OF_1).view(np.float32)
    large = scaled > _ROOT_2
    k = int32((word >> _N_FRACTION_BITS) - _EXPONENT_BIAS)
    k = k + int32(1) if large else k
    f = (scaled * HALF if large else scaled) - ONE
    # For small y, 1 + y loses digits of y; for NaN, `scaled` is a number.
    f = y if k == 0 or y != y else f
    s = f / (TWO + f)
    z = s * s
    series = ((_S9 * z + _S7) * z + _S5) * z + _S3
    return float32(k) * _LOG_2 + (series * z + TWO) * s


@njit(inline="always")
@no_type_check
def reciprocal_sigmoid(x):
    """1 / sigmoid(x), which is never zero."""
    # `max` before `min`: in this order NaN stays NaN.
    return ONE + exp(min(max(-x, -MAX_EXPONENT), MAX_EXPONENT))
