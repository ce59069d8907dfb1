"""Random words, Bernoulli samples and sums over hidden units."""

# mypy: disable-error-code="untyped-decorator"

import math
from typing import no_type_check

import numpy as np
from numba import boolean, intp, njit, types, void
from numpy import float32, uint64

from crbm.kernels.compiled.numerics import FASTMATH, MAX_EXPONENT, ONE, ZERO, exp
from crbm.kernels.compiled.threads import in_parts

_N_FACTORS = 64  # factors of at most two, whose product does not overflow a float32
_N_STEPS = float32(2**16)  # values that 16 bits take
_MIDDLE = float32(2**15 + 0.5)  # shifts an int16 to the middle of its step, from zero
_N_DISCARDED = 12  # first outputs of SFC64
# Random words take about a fifth of the time of samples, so each part has four fifths
# of the units of the part before it.
_SHRINKAGE = 4 / 5
_ROWS, _FLOATS = types.float32[:, ::1], types.float32[::1]
_OF_LANES = void(intp, intp, _FLOATS, boolean, *[types.uint64[:, ::1]] * 2)
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


@njit(inline="always")
@no_type_check
def _sample(p, bits):
    """1 where the 16 random bits lie below p, else 0."""
    middle = float32(bits) + _MIDDLE
    return ONE if middle < _N_STEPS * p else ZERO


@njit(inline="always")
@no_type_check
def _sample_from_logit(x, bits):
    """1 where the 16 random bits lie below sigmoid(x), else 0."""
    y = min(max(-x, -MAX_EXPONENT), MAX_EXPONENT)
    middle = float32(bits) + _MIDDLE
    return ONE if middle * (ONE + exp(y)) < _N_STEPS else ZERO


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def bernoulli_(p, bits):
    """Replace probabilities by samples, 1 where the 16 random bits lie below p."""
    for place in range(p.size):
        p[place] = _sample(p[place], bits[place])


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def bernoulli_from_logits_(x, bits):
    """Replace log-odds by samples, 1 where the 16 random bits lie below sigmoid(x)."""
    for place in range(x.size):
        x[place] = _sample_from_logit(x[place], bits[place])


@njit(nogil=True, cache=True)
@no_type_check
def _first_block(part, n_parts, n_blocks):
    """Where a part begins: without `FASTMATH`, where the part before it ends."""
    share = (1 - _SHRINKAGE**part) / (1 - _SHRINKAGE**n_parts)
    return int(n_blocks * share)


@njit(
    _OF_LANES,
    fastmath=FASTMATH,
    error_model="numpy",
    nogil=True,
    cache=True,
)
@no_type_check
def _bernoulli_from_lanes_(part, n_parts, x, logits, state, after):
    """Sample a part of the units, with the words that one thread would use for them.

    A part first advances its copy of the generators past the units before it, so the
    parts shrink. The last one ends with the generators' new state. Slices of `x` would
    count references to it, for which threads wait for each other.
    """
    own = state.copy()
    words = np.empty(own.shape[1], dtype=np.uint64)
    bits = words.view(np.int16)
    n_blocks = (x.size + bits.size - 1) // bits.size
    begin = _first_block(part, n_parts, n_blocks) * bits.size
    end = _first_block(part + 1, n_parts, n_blocks) * bits.size
    for first in range(0, end, bits.size):
        n_units = min(bits.size, x.size - first)
        random_words(own[0], own[1], own[2], own[3], words[: (n_units + 3) // 4])
        if first < begin:
            continue
        if logits:
            for unit in range(n_units):
                place = uint64(first + unit)  # signed ones could count from the end
                x[place] = _sample_from_logit(x[place], bits[unit])
        else:
            for unit in range(n_units):
                place = uint64(first + unit)
                x[place] = _sample(x[place], bits[unit])
    if part == n_parts - 1:
        after[:] = own


_bernoulli_in_parts = in_parts(_bernoulli_from_lanes_)


@njit(nogil=True, cache=True)
@no_type_check
def bernoulli_from_lanes_(x, logits, state, after, n_threads):
    """Sample with the next words of the generators; their new state goes to `after`."""
    _bernoulli_in_parts((x, logits, state, after), n_threads)


@njit(nogil=True, cache=True)
@no_type_check
def copy_rows(old, new, rows):
    """Copy the rows where `rows` is true, by element: slices are slower."""
    for row in range(rows.size):
        if rows[row]:
            for place in range(old.shape[1]):
                old[row, place] = new[row, place]


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


_softplus_in_parts = in_parts(_softplus_and_means)


@njit(nogil=True, cache=True)
@no_type_check
def softplus_and_means(x, total, n_threads):
    """Sum log(1 + e^x) over each row; replace x by sigmoid(x)."""
    _softplus_in_parts((x, total), n_threads)


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
