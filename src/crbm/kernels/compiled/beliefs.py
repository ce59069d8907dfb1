"""Belief propagation for several cases side by side.

The messages of these cases stay in the cache for all rounds. torch reads and writes the
messages of all cases several times per round.

A coupling w is given as its sign, `low` = min(w, 0) and `growth` = e^|w| - 1. A unit
whose log-odds without the receiver's message are x sends
low + log(1 + growth * sigmoid(sign * x)) = log(1 + e^(x + w)) - log(1 + e^x).
"""

# mypy: disable-error-code="untyped-decorator"

from typing import no_type_check

import numpy as np
from numba import njit

from crbm.kernels.compiled.numerics import (
    FASTMATH,
    ONE,
    ZERO,
    log1p,
    reciprocal_sigmoid,
)

N_TOGETHER = 16  # cases: two vector registers of eight float32 numbers


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def _exchange(messages, sign, low, growth, damping, log_odds, total):
    """All units send messages at once, computed from `log_odds`, added to `total`.

    The message i -> j leaves out what j sent to i (the cavity).
    """
    for i in range(len(log_odds)):
        for j in range(i):
            if growth[i, j] == ZERO:  # not coupled
                continue
            growth_ij, low_ij, sign_ij = growth[i, j], low[i, j], sign[i, j]
            to_j, to_i = messages[i, j], messages[j, i]
            odds_i, odds_j = log_odds[i], log_odds[j]
            total_i, total_j = total[i], total[j]
            for case in range(N_TOGETHER):
                old_j, old_i = to_j[case], to_i[case]
                cavity_i, cavity_j = odds_i[case] - old_i, odds_j[case] - old_j
                share_i = growth_ij / reciprocal_sigmoid(sign_ij * cavity_i)
                share_j = growth_ij / reciprocal_sigmoid(sign_ij * cavity_j)
                new_j, new_i = low_ij + log1p(share_i), low_ij + log1p(share_j)
                new_j += damping * (old_j - new_j)
                new_i += damping * (old_i - new_i)
                to_j[case], to_i[case] = new_j, new_i
                total_j[case] += new_j
                total_i[case] += new_i


@njit(nogil=True, cache=True)
@no_type_check
def pairwise(field, sign, low, growth, n_steps, damping, total, sent, delta):
    """Rounds in which all pairs of units exchange messages at once.

    Writes for each case the log-odds, the messages ([i, j] goes from i to j) and the
    largest change of a belief in the last round.
    """
    n_units = field.shape[1]
    for first in range(0, len(field), N_TOGETHER):
        own = _side_by_side(field[first : first + N_TOGETHER])
        messages = np.zeros((n_units, n_units, N_TOGETHER), dtype=np.float32)
        before = now = own
        for _ in range(n_steps):
            before, now = now, own.copy()
            _exchange(messages, sign, low, growth, damping, before, now)
        for case in range(min(N_TOGETHER, len(field) - first)):
            total[first + case] = now[:, case]
            sent[first + case] = messages[:, :, case]
            delta[first + case] = _largest_change(now[:, case], before[:, case])


@njit(fastmath=FASTMATH, error_model="numpy", nogil=True, cache=True)
@no_type_check
def _send(messages, replies, sign, low, growth, damping, log_odds, total):
    """Units of one side send messages, computed from `log_odds`, to the other side.

    They are added to `total`. The message i -> j leaves out the reply j -> i (the
    cavity).
    """
    for i in range(len(log_odds)):
        for j in range(len(total)):
            if growth[i, j] == ZERO:  # not coupled
                continue
            growth_ij, low_ij, sign_ij = growth[i, j], low[i, j], sign[i, j]
            to_j, from_j = messages[i, j], replies[j, i]
            odds_i, total_j = log_odds[i], total[j]
            for case in range(N_TOGETHER):
                cavity = odds_i[case] - from_j[case]
                share = growth_ij / reciprocal_sigmoid(sign_ij * cavity)
                new = low_ij + log1p(share)
                new += damping * (to_j[case] - new)
                to_j[case] = new
                total_j[case] += new


@njit(nogil=True, cache=True)
@no_type_check
def bipartite(field, hidden_field, sign, low, growth, n_steps, damping, total, delta):
    """Rounds of messages from visible to hidden units and back.

    Writes for each case the log-odds of the visible units, and the largest change of a
    belief in the last round.
    """
    n_visible, n_hidden = growth.shape
    for first in range(0, len(field), N_TOGETHER):
        own = _side_by_side(field[first : first + N_TOGETHER])
        own_hidden = _side_by_side(hidden_field[first : first + N_TOGETHER])
        to_hidden = np.zeros((n_visible, n_hidden, N_TOGETHER), dtype=np.float32)
        to_visible = np.zeros((n_hidden, n_visible, N_TOGETHER), dtype=np.float32)
        before = now = own
        for _ in range(n_steps):
            hidden = own_hidden.copy()
            _send(to_hidden, to_visible, sign, low, growth, damping, now, hidden)
            before, now = now, own.copy()
            _send(to_visible, to_hidden, sign.T, low.T, growth.T, damping, hidden, now)
        for case in range(min(N_TOGETHER, len(field) - first)):
            total[first + case] = now[:, case]
            delta[first + case] = _largest_change(now[:, case], before[:, case])


@njit(nogil=True, cache=True)
@no_type_check
def _side_by_side(rows):
    """One row per unit, one column per case; missing cases are zeros."""
    columns = np.zeros((rows.shape[1], N_TOGETHER), dtype=np.float32)
    columns[:, : len(rows)] = rows.T
    return columns


@njit(nogil=True, cache=True)
@no_type_check
def _largest_change(now, before):
    """The largest change of a probability, or NaN if one is NaN."""
    largest = ZERO
    for unit in range(now.size):
        change = abs(
            ONE / reciprocal_sigmoid(now[unit]) - ONE / reciprocal_sigmoid(before[unit])
        )
        if not change <= largest:  # true for NaN too, so NaN is reported
            largest = change
        if change != change:
            break
    return largest
