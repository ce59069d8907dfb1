"""Which members to choose whole label sets by, on cases that they left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from crbm.estimators.pooling import (
    SetPool,
    SetProbabilities,
    log_probability,
    some_rows,
)

N_STEPS, PATIENCE = 25, 6
# Of the mean probability of the true sets: decides between equal shares of right sets.
TIE_BREAK = 1e-3


def select_for_sets(
    members: Sequence[SetProbabilities], sets: Int[np.ndarray, " cases"]
) -> SetPool:
    """The pool whose likeliest sets are right most often; -1 is never right.

    Greedy selection with replacement [1]_: the member is added, once more perhaps,
    with which the sum of log probabilities has the right set on top most often. The
    best of all sums on the way is returned, its weights adding up to 1.

    References
    ----------
    .. [1] Caruana, R. and others, "Ensemble selection from libraries of models", ICML
       2004.

    Examples
    --------
    >>> good = np.array([[0.6, 0.4], [0.2, 0.8], [0.3, 0.7]])
    >>> select_for_sets([1 - good, good], np.array([0, 1, 1])).weights
    [0.0, 1.0]
    """
    rows = some_rows(len(sets), members[0].shape[1])
    scores = [log_probability(p[rows]).astype(np.float32) for p in members]
    return SetPool(greedy_weights(scores, sets[rows]))


def greedy_weights(
    scores: Sequence[Float[np.ndarray, "cases sets"]], truth: Int[np.ndarray, " cases"]
) -> list[float]:
    """Weights of the sum of scores that has the true set on top most often.

    They add up to 1; a truth of -1 is never right.
    """
    if not (truth >= 0).any():
        return [1 / len(scores)] * len(scores)
    total, counts = np.zeros_like(scores[0]), np.zeros(len(scores))
    best, chosen, waited = -1.0, counts, 0
    for _ in range(N_STEPS):
        found = [_share_right(total + own, truth) for own in scores]
        place = int(np.argmax(found))
        total += scores[place]
        counts[place] += 1
        if found[place] > best + 1e-9:
            best, chosen, waited = found[place], counts / counts.sum(), 0
        elif (waited := waited + 1) == PATIENCE:
            break
    return [float(weight) for weight in chosen]


def _share_right(scores: np.ndarray, truth: np.ndarray) -> float:
    right = scores.argmax(1) == truth
    above = scores - scores.max(1, keepdims=True)
    own = above[np.arange(len(truth)), truth] - np.log(np.exp(above).sum(1))
    return float(right.mean() + TIE_BREAK * np.exp(own)[truth >= 0].mean())
