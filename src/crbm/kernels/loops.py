"""The loops themselves, in the part of Python that Numba compiles.

The exponential is written out, as the call of a library's would keep the compiler from
doing eight units at a time.
"""

# mypy: disable-error-code="untyped-decorator"

import math
from typing import no_type_check

import numpy as np
from numba import njit
from numpy import float32, int32, uint64
from numpy.polynomial import Chebyshev, Polynomial

_FAST = {"contract", "nsz", "arcp", "reassoc"}  # NaN stays NaN
_ZERO, _HALF, _ONE = (float32(x) for x in (0, 0.5, 1))
_LARGEST = float32(80)  # e^80 is a float32, and so is its inverse
_N_DOUBLINGS = 64  # factors of at most two whose product is a float32
_N_STEPS = float32(2**16)  # of 16 bits
_MIDDLE = float32(2**15 + 0.5)  # what to add for the middle of a step from zero
_LOG2_E, _LOG_2 = float32(1 / math.log(2)), float32(math.log(2))
_N_DROPPED = 12
_1, _3, _11, _24, _40 = (uint64(n) for n in (1, 3, 11, 24, 40))
_SERIES = Chebyshev.interpolate(np.exp, 6, (-math.log(2) / 2, math.log(2) / 2))
_C0, _C1, _C2, _C3, _C4, _C5, _C6 = map(float32, _SERIES.convert(kind=Polynomial).coef)


@njit(inline="always")
@no_type_check
def _exp(x):
    """e^x = 2^k e^r, where r is at most log(2) / 2 and a polynomial does."""
    k = np.floor(x * _LOG2_E + _HALF)
    r = x - k * _LOG_2
    power = int32((int32(k) + int32(127)) << int32(23)).view(np.float32)
    high = ((_C6 * r + _C5) * r + _C4) * r + _C3
    return (((high * r + _C2) * r + _C1) * r + _C0) * power


@njit(error_model="numpy", nogil=True, cache=True)
@no_type_check
def fill(a, b, c, counter, words):
    """Words of as many SFC64 as there are places in a, in turns."""
    for first in range(0, words.size, a.size):
        some = words[first : first + a.size]
        for lane in range(some.size):
            word = a[lane] + b[lane] + counter[lane]
            counter[lane] += _1
            a[lane] = b[lane] ^ (b[lane] >> _11)
            b[lane] = c[lane] + (c[lane] << _3)
            c[lane] = ((c[lane] << _24) | (c[lane] >> _40)) + word
            some[lane] = word


@njit(nogil=True, cache=True)
@no_type_check
def seed(seeds, a, b, c, counter, dropped):
    """Start generators as NumPy does: a counter from 1, the first words dropped."""
    for lane in range(a.size):
        a[lane], b[lane] = seeds[lane], seeds[lane + a.size]
        c[lane], counter[lane] = seeds[lane + 2 * a.size], _1
    for _ in range(_N_DROPPED):
        fill(a, b, c, counter, dropped)


@njit(fastmath=_FAST, error_model="numpy", nogil=True, cache=True)
@no_type_check
def below(p, bits):
    """1 where 16 random bits lie below p, in the memory of p."""
    for place in range(p.size):
        middle = float32(bits[place]) + _MIDDLE
        p[place] = _ONE if middle < _N_STEPS * p[place] else _ZERO


@njit(fastmath=_FAST, error_model="numpy", nogil=True, cache=True)
@no_type_check
def below_sigmoid(x, bits):
    """1 where 16 random bits lie below sigmoid(x), in the memory of x."""
    for place in range(x.size):
        y = min(max(-x[place], -_LARGEST), _LARGEST)
        middle = float32(bits[place]) + _MIDDLE
        x[place] = _ONE if middle * (_ONE + _exp(y)) < _N_STEPS else _ZERO


@njit(nogil=True, cache=True)
@no_type_check
def draw(x, logits, a, b, c, counter, words, bits):
    """`below` or `below_sigmoid` by the next bits of generators; they view `words`."""
    for first in range(0, x.size, bits.size):
        some = x[first : first + bits.size]
        fill(a, b, c, counter, words[: (some.size + 3) // 4])
        if logits:
            below_sigmoid(some, bits)
        else:
            below(some, bits)


@njit(fastmath=_FAST, error_model="numpy", nogil=True, cache=True)
@no_type_check
def dots(x, y, total):
    """The inner product of each row of x with that of y."""
    for row in range(len(x)):
        one, other, found = x[row], y[row], _ZERO
        for place in range(one.size):
            found += one[place] * other[place]
        total[row] = found


@njit(nogil=True, cache=True)
@no_type_check
def copy_rows(old, new, rows):
    """The rows that are wanted, number by number: a slice would cost more."""
    for row in range(rows.size):
        if rows[row]:
            for place in range(old.shape[1]):
                old[row, place] = new[row, place]


@njit(fastmath=_FAST, error_model="numpy", nogil=True, cache=True)
@no_type_check
def softplus_and_means(x, total):
    """Of each row the sum of log(1 + e^x); sigmoid(x) in the memory of x.

    With small = e^-|x| the first is max(x, 0) + log(1 + small), and one logarithm
    serves many units.
    """
    for row in range(len(x)):
        found = 0.0
        for first in range(0, x.shape[1], _N_DOUBLINGS):
            units = x[row][first : first + _N_DOUBLINGS]
            product, positive = _ONE, _ZERO
            for unit in range(units.size):
                y = units[unit]
                small = _exp(-min(abs(y), _LARGEST))
                product *= _ONE + small
                positive += max(y, _ZERO)
                units[unit] = (_ONE if y > _ZERO else small) / (_ONE + small)
            found += positive + math.log(product)
        total[row] = found


@njit(fastmath=_FAST, error_model="numpy", nogil=True, cache=True)
@no_type_check
def softplus_of_rows(by_row, by_case, ids, total):
    """The sum of log(1 + e^x), x being what a row and a case add up to."""
    for case in range(len(ids)):
        for place in range(ids.shape[1]):
            row, found = by_row[ids[case, place]], 0.0
            for first in range(0, row.size, _N_DOUBLINGS):
                one = row[first : first + _N_DOUBLINGS]
                other = by_case[case][first : first + _N_DOUBLINGS]
                product, positive = _ONE, _ZERO
                for unit in range(one.size):
                    y = one[unit] + other[unit]
                    product *= _ONE + _exp(-min(abs(y), _LARGEST))
                    positive += max(y, _ZERO)
                found += positive + math.log(product)
            total[case, place] = found


@njit(fastmath=_FAST, error_model="numpy", nogil=True, cache=True)
@no_type_check
def means_of_rows(by_row, by_case, ids, weight, sum_by_row, sum_by_case):
    """Add the weighted sigmoid(x) to the sums of its row and of its case."""
    for case in range(len(ids)):
        other, for_case = by_case[case], sum_by_case[case]
        for place in range(ids.shape[1]):
            share = weight[case, place]
            if share == _ZERO:  # padding
                continue
            row, for_row = by_row[ids[case, place]], sum_by_row[ids[case, place]]
            for unit in range(row.size):
                y = min(max(-row[unit] - other[unit], -_LARGEST), _LARGEST)
                mean = share / (_ONE + _exp(y))
                for_row[unit] += mean
                for_case[unit] += mean
