"""Belief propagation between the units of several cases side by side.

Their messages stay in the cache for all rounds, where torch passes the messages of all
cases through memory several times in each.
"""

# mypy: disable-error-code="untyped-decorator"

import math
from typing import no_type_check

import numpy as np
from numba import njit
from numpy import float32, int32

from crbm.kernels.loops import _FAST, _HALF, _LARGEST, _LOG_2, _ONE, _ZERO, _exp

N_TOGETHER = 16  # cases: two steps of a processor that does eight numbers at a time
_TWO, _ROOT_2 = float32(2), float32(math.sqrt(2))
_S3, _S5, _S7, _S9 = (float32(2 / n) for n in (3, 5, 7, 9))
_BIAS, _N_DIGITS = int32(127), int32(23)  # of the binary exponent, of what it scales
_DIGITS, _EXPONENT_OF_1 = int32(2**23 - 1), int32(127 << 23)


@njit(inline="always")
@no_type_check
def _log1p(y):
    """log(1 + y) = k log(2) + log(1 + f), by a series in s = f / (2 + f)."""
    word = float32(_ONE + y).view(np.int32)
    scaled = int32((word & _DIGITS) | _EXPONENT_OF_1).view(np.float32)
    large = scaled > _ROOT_2
    k = int32((word >> _N_DIGITS) - _BIAS)
    k = k + int32(1) if large else k
    f = (scaled * _HALF if large else scaled) - _ONE
    # 1 + y has lost digits of a small y, and its exponent would make NaN a number.
    f = y if k == 0 or y != y else f
    s = f / (_TWO + f)
    z = s * s
    series = ((_S9 * z + _S7) * z + _S5) * z + _S3
    return float32(k) * _LOG_2 + (series * z + _TWO) * s


@njit(inline="always")
@no_type_check
def _inverse(x):
    """1 / sigmoid(x), which is never zero."""
    return _ONE + _exp(min(max(-x, -_LARGEST), _LARGEST))  # in this order NaN stays


@njit(fastmath=_FAST, error_model="numpy", nogil=True, cache=True)
@no_type_check
def _exchange(messages, sign, below, growth, damping, known, heard):
    """All units tell each other what they know, and hear it at the same time.

    None tells another one what it has from there.
    """
    for i in range(len(known)):
        for j in range(i):
            if growth[i, j] == _ZERO:  # not coupled
                continue
            above, least, side = growth[i, j], below[i, j], sign[i, j]
            to_j, to_i = messages[i, j], messages[j, i]
            known_i, known_j, heard_i, heard_j = known[i], known[j], heard[i], heard[j]
            for case in range(N_TOGETHER):
                old_j, old_i = to_j[case], to_i[case]
                share_i = above / _inverse(side * (known_i[case] - old_i))
                share_j = above / _inverse(side * (known_j[case] - old_j))
                new_j, new_i = least + _log1p(share_i), least + _log1p(share_j)
                new_j += damping * (old_j - new_j)
                new_i += damping * (old_i - new_i)
                to_j[case], to_i[case] = new_j, new_i
                heard_j[case] += new_j
                heard_i[case] += new_i


@njit(nogil=True, cache=True)
@no_type_check
def pairwise(field, sign, below, growth, n_steps, damping, total, told, delta):
    """Rounds in which all units tell each other at once, what the last one left them.

    Of each case the log-odds, [i, j] what i told j, and the last move of a belief.
    """
    n_units = field.shape[1]
    for first in range(0, len(field), N_TOGETHER):
        own = _together(field[first : first + N_TOGETHER])
        messages = np.zeros((n_units, n_units, N_TOGETHER), dtype=np.float32)
        before = now = own
        for _ in range(n_steps):
            before, now = now, own.copy()
            _exchange(messages, sign, below, growth, damping, before, now)
        for case in range(min(N_TOGETHER, len(field) - first)):
            total[first + case] = now[:, case]
            told[first + case] = messages[:, :, case]
            delta[first + case] = _furthest(now[:, case], before[:, case])


@njit(fastmath=_FAST, error_model="numpy", nogil=True, cache=True)
@no_type_check
def _tell(messages, replies, sign, below, growth, damping, known, heard):
    """The units of one side tell those of the other what they know.

    None tells another one what it has from there: [j, i] of the replies.
    """
    for i in range(len(known)):
        for j in range(len(heard)):
            if growth[i, j] == _ZERO:  # not coupled
                continue
            above, least, side = growth[i, j], below[i, j], sign[i, j]
            to_j, from_j = messages[i, j], replies[j, i]
            known_i, heard_j = known[i], heard[j]
            for case in range(N_TOGETHER):
                share = above / _inverse(side * (known_i[case] - from_j[case]))
                new = least + _log1p(share)
                new += damping * (to_j[case] - new)
                to_j[case] = new
                heard_j[case] += new


@njit(nogil=True, cache=True)
@no_type_check
def bipartite(field, hidden_field, sign, below, growth, n_steps, damping, total, delta):
    """Rounds in which visible units tell hidden ones, and these answer.

    Of each case the log-odds of visible units, and the last move of a belief.
    """
    n_visible, n_hidden = growth.shape
    for first in range(0, len(field), N_TOGETHER):
        own = _together(field[first : first + N_TOGETHER])
        own_hidden = _together(hidden_field[first : first + N_TOGETHER])
        to_hidden = np.zeros((n_visible, n_hidden, N_TOGETHER), dtype=np.float32)
        to_visible = np.zeros((n_hidden, n_visible, N_TOGETHER), dtype=np.float32)
        before = now = own
        for _ in range(n_steps):
            hidden = own_hidden.copy()
            _tell(to_hidden, to_visible, sign, below, growth, damping, now, hidden)
            before, now = now, own.copy()
            _tell(
                to_visible, to_hidden, sign.T, below.T, growth.T, damping, hidden, now
            )
        for case in range(min(N_TOGETHER, len(field) - first)):
            total[first + case] = now[:, case]
            delta[first + case] = _furthest(now[:, case], before[:, case])


@njit(nogil=True, cache=True)
@no_type_check
def _together(rows):
    """The cases side by side for each unit; zeros where there are no more."""
    columns = np.zeros((rows.shape[1], N_TOGETHER), dtype=np.float32)
    columns[:, : len(rows)] = rows.T
    return columns


@njit(nogil=True, cache=True)
@no_type_check
def _furthest(now, before):
    furthest = _ZERO
    for unit in range(now.size):
        moved = abs(_ONE / _inverse(now[unit]) - _ONE / _inverse(before[unit]))
        if not moved <= furthest:  # which keeps what is no number
            furthest = moved
        if moved != moved:
            break
    return furthest
