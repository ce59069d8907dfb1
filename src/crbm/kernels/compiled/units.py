"""Random words, Bernoulli samples and sums over hidden units."""

# mypy: disable-error-code="untyped-decorator"

import math
from typing import no_type_check

from numba import njit
from numpy import float32, uint64

from crbm.kernels.compiled.numerics import FASTMATH, MAX_EXPONENT, ONE, ZERO, exp

_N_FACTORS = 64  # factors of at most two, whose product does not overflow a float32
_N_STEPS = float32(2**16)  # values that 16 bits take
_MIDDLE = float32(2**15 + 0.5)  # shifts an int16 to the middle of its step, from zero
_N_DISCARDED = 12  # first outputs of SFC64
_1, _3, _11, _24, _40 = (uint64(n) for n in (1, 3, 11, 24, 40))


@njit(error_model="numpy", nogil=True, cache=True)
@no_type_check
def random_words(a, b, c, counter, words):
    """Fill `words` from one SFC64 per element of the state, in turn."""
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
def seed(seeds, a, b, c, counter, discarded):
    """Seed the generators as NumPy does: counter 1, the first outputs discarded."""
    for lane in range(a.size):
        a[lane], b[lane] = seeds[lane], seeds[lane + a.size]
        c[lane], counter[lane] = seeds[lane + 2 * a.size], _1
    for _ in range(_N_DISCARDED):
        random_words(a, b, c, counter, discarded)


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def bernoulli_(p, bits):
    """Replace probabilities by samples, 1 where the 16 random bits lie below p."""
    for place in range(p.size):
        middle = float32(bits[place]) + _MIDDLE
        p[place] = ONE if middle < _N_STEPS * p[place] else ZERO


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def bernoulli_from_logits_(x, bits):
    """Replace log-odds by samples, 1 where the 16 random bits lie below sigmoid(x)."""
    for place in range(x.size):
        y = min(max(-x[place], -MAX_EXPONENT), MAX_EXPONENT)
        middle = float32(bits[place]) + _MIDDLE
        x[place] = ONE if middle * (ONE + exp(y)) < _N_STEPS else ZERO


@njit(nogil=True, cache=True)
@no_type_check
def bernoulli_from_lanes_(x, logits, a, b, c, counter, words, bits):
    """Sample with the next words of the generators; `bits` is a view of `words`."""
    for first in range(0, x.size, bits.size):
        some = x[first : first + bits.size]
        random_words(a, b, c, counter, words[: (some.size + 3) // 4])
        if logits:
            bernoulli_from_logits_(some, bits)
        else:
            bernoulli_(some, bits)


@njit(nogil=True, cache=True)
@no_type_check
def copy_rows(old, new, rows):
    """Copy the rows where `rows` is true, by element: slices are slower."""
    for row in range(rows.size):
        if rows[row]:
            for place in range(old.shape[1]):
                old[row, place] = new[row, place]


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def softplus_and_means(x, total):
    """Sum log(1 + e^x) over each row; replace x by sigmoid(x).

    With small = e^-|x|, the first is max(x, 0) + log(1 + small). The factors
    1 + small of many units are multiplied, so that they share one logarithm.
    """
    for row in range(len(x)):
        row_total = 0.0
        for first in range(0, x.shape[1], _N_FACTORS):
            units = x[row][first : first + _N_FACTORS]
            product, positive = ONE, ZERO
            for unit in range(units.size):
                y = units[unit]
                small = exp(-min(abs(y), MAX_EXPONENT))
                product *= ONE + small
                positive += max(y, ZERO)
                units[unit] = (ONE if y > ZERO else small) / (ONE + small)
            row_total += positive + math.log(product)
        total[row] = row_total


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def softplus_of_rows(by_row, by_case, ids, total):
    """Sum log(1 + e^x), where x = by_row + by_case, over hidden units."""
    for case in range(len(ids)):
        for place in range(ids.shape[1]):
            row, row_total = by_row[ids[case, place]], 0.0
            for first in range(0, row.size, _N_FACTORS):
                one = row[first : first + _N_FACTORS]
                other = by_case[case][first : first + _N_FACTORS]
                product, positive = ONE, ZERO
                for unit in range(one.size):
                    y = one[unit] + other[unit]
                    product *= ONE + exp(-min(abs(y), MAX_EXPONENT))
                    positive += max(y, ZERO)
                row_total += positive + math.log(product)
            total[case, place] = row_total


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def means_of_rows(by_row, by_case, ids, weight, sum_by_row, sum_by_case):
    """Add the weighted sigmoid(by_row + by_case) to the sums by row and by case."""
    for case in range(len(ids)):
        other, for_case = by_case[case], sum_by_case[case]
        for place in range(ids.shape[1]):
            share = weight[case, place]
            if share == ZERO:  # padding
                continue
            row, for_row = by_row[ids[case, place]], sum_by_row[ids[case, place]]
            for unit in range(row.size):
                y = min(max(-row[unit] - other[unit], -MAX_EXPONENT), MAX_EXPONENT)
                mean = share / (ONE + exp(y))
                for_row[unit] += mean
                for_case[unit] += mean
