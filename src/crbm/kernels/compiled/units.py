"""Random words, Bernoulli samples and sums over hidden units."""

# mypy: disable-error-code="untyped-decorator"

import math
from typing import no_type_check

from numba import boolean, int16, intp, njit, types, void
from numpy import float32, uint64

from crbm.kernels.compiled.numerics import FASTMATH, MAX_EXPONENT, ONE, ZERO, exp
from crbm.kernels.compiled.threads import in_parts

_N_FACTORS = 64  # factors of at most two, whose product does not overflow a float32
_N_STEPS = float32(2**16)  # values that 16 bits take
_MIDDLE = float32(2**15 + 0.5)  # shifts an int16 to the middle of its step, from zero
_N_DISCARDED = 12  # first outputs of SFC64
_N_OF_WORD = 4  # samples of a random word
_N_OF_LINE = 8  # words of a cache line, which two threads should not both write
_ROWS, _FLOATS = types.float32[:, ::1], types.float32[::1]
_WORDS, _BITS = types.uint64[::1], int16[::1]
_OF_LANES = void(intp, intp, _FLOATS, boolean, *[_WORDS] * 5, _BITS)
_OF_COPIES = void(intp, intp, _ROWS, _ROWS, boolean[::1])
_OF_SOFTPLUS = void(intp, intp, _ROWS, _FLOATS)
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


@njit(_OF_LANES, nogil=True, cache=True)
@no_type_check
def _bernoulli_from_lanes_(part, n_parts, x, logits, a, b, c, counter, words, bits):
    """Sample the units whose bits come from a part of the generators.

    So samples do not depend on the number of parts.
    """
    n_lines, n_units = a.size // _N_OF_LINE, bits.size
    begin = n_lines * part // n_parts * _N_OF_LINE
    end = n_lines * (part + 1) // n_parts * _N_OF_LINE
    a, b, c, counter = a[begin:end], b[begin:end], c[begin:end], counter[begin:end]
    words, bits = words[begin:end], bits[_N_OF_WORD * begin : _N_OF_WORD * end]
    for first in range(0, x.size, n_units):
        some = x[first + _N_OF_WORD * begin : first + _N_OF_WORD * end]
        n_words = (some.size + _N_OF_WORD - 1) // _N_OF_WORD
        random_words(a, b, c, counter, words[:n_words])
        if logits:
            bernoulli_from_logits_(some, bits)
        else:
            bernoulli_(some, bits)


_bernoulli_from_lanes__in_parts = in_parts(_bernoulli_from_lanes_)


@njit(nogil=True, cache=True)
@no_type_check
def bernoulli_from_lanes_(x, logits, a, b, c, counter, words, bits, n_threads):
    """Sample with the next words of the generators; `bits` is a view of `words`."""
    arguments = x, logits, a, b, c, counter, words, bits
    _bernoulli_from_lanes__in_parts(arguments, n_threads)


@njit(_OF_COPIES, nogil=True, cache=True)
@no_type_check
def _copy_rows(part, n_parts, old, new, rows):
    """Copy by element: slices are slower."""
    for row in range(rows.size * part // n_parts, rows.size * (part + 1) // n_parts):
        if rows[row]:
            for place in range(old.shape[1]):
                old[row, place] = new[row, place]


_copy_rows_in_parts = in_parts(_copy_rows)


@njit(nogil=True, cache=True)
@no_type_check
def copy_rows(old, new, rows, n_threads):
    """Copy the rows where `rows` is true."""
    _copy_rows_in_parts((old, new, rows), n_threads)


@njit(_OF_SOFTPLUS, fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def _softplus_and_means(part, n_parts, x, total):
    """Do so for a part of the rows.

    With small = e^-|x|, the first is max(x, 0) + log(1 + small). The factors
    1 + small of many units are multiplied, so that they share one logarithm.
    """
    for row in range(len(x) * part // n_parts, len(x) * (part + 1) // n_parts):
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


_softplus_and_means_in_parts = in_parts(_softplus_and_means)


@njit(nogil=True, cache=True)
@no_type_check
def softplus_and_means(x, total, n_threads):
    """Sum log(1 + e^x) over each row; replace x by sigmoid(x)."""
    _softplus_and_means_in_parts((x, total), n_threads)


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
