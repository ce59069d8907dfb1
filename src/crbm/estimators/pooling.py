"""Weights by which the members of a mixture are pooled.

Probabilities are pooled in their logarithms: the pooled log-odds of a label are a
weighted sum of the members' log-odds, and the pooled energy of a label set is a
weighted sum of the members' energies. The weights maximise the likelihood of cases that
the members have not learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

# Probabilities are kept this far from 0 and 1 before their logarithm is taken.
LEAST_LABEL = 1e-4
LEAST_SET = 1e-5
LARGEST_ODDS = 700.0  # whose exponential does not overflow
# Weights have no upper limit of their own where the members are always right.
MOST_WEIGHT = 20.0
# Numbers per member that weights are fitted to; more would hardly change them.
MOST_NUMBERS = 2**21
N_ITERATIONS = 50

Marginals = Float[np.ndarray, "cases labels"]
SetProbabilities = Float[np.ndarray, "cases sets"]


class LabelPool(NamedTuple):
    """A weight for the log-odds of each member, and a bias."""

    weights: list[float]
    bias: float

    def __call__(self, members: Sequence[Marginals]) -> Marginals:
        """The pooled p(v_i = 1 | u)."""
        total = np.full(members[0].shape, self.bias)
        for weight, p in zip(self.weights, members, strict=True):
            total += weight * log_odds(p)
        return 1 / (1 + np.exp(-total.clip(-LARGEST_ODDS, LARGEST_ODDS)))


class SetPool(NamedTuple):
    """A weight for the log probabilities of each member."""

    weights: list[float]

    def __call__(self, members: Sequence[SetProbabilities]) -> SetProbabilities:
        """The pooled p(v | u) over the label sets."""
        total = np.zeros(members[0].shape)
        for weight, p in zip(self.weights, members, strict=True):
            total += weight * log_probability(p)
        total = np.exp(total - total.max(1, keepdims=True))
        return total / total.sum(1, keepdims=True)


def fit_labels(
    members: Sequence[Marginals],
    truth: Marginals,
    weight: Float[np.ndarray, " cases"] | None = None,
) -> LabelPool:
    """The pool with the lowest log loss of single labels; NaN in `truth` is left out.

    Examples
    --------
    >>> truth = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    >>> right, wrong = 0.1 + 0.8 * truth, 0.9 - 0.8 * truth
    >>> pool = fit_labels([right, wrong], truth)
    >>> pool.weights[0] > 1 > pool.weights[1]
    True
    """
    rows = some_rows(len(truth), truth.shape[1])
    known = ~np.isnan(truth[rows])
    odds = torch.tensor(
        np.stack([log_odds(p[rows][known]) for p in members], -1), dtype=torch.float64
    )
    target = torch.tensor(truth[rows][known], dtype=torch.float64)
    times = _repeated(weight, rows, known)

    def loss(numbers: Tensor) -> Tensor:
        # weights are positive: their logarithms are searched for
        total = odds @ numbers[:-1].exp().clamp(max=MOST_WEIGHT) + numbers[-1]
        return binary_cross_entropy_with_logits(total, target, times)

    *logs, bias = minimise(loss, [*_equal_weights(len(members)), 0.0])[0]
    return LabelPool(_to_weights(logs), bias)


def fit_sets(
    members: Sequence[SetProbabilities], sets: Int[np.ndarray, " cases"]
) -> SetPool:
    """The pool with the highest likelihood of the label sets; -1 is left out.

    Examples
    --------
    >>> right = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> pool = fit_sets([right, 1 - right], np.array([0, 1]))
    >>> pool.weights[0] > 1 > pool.weights[1]
    True
    """
    rows = np.flatnonzero(sets >= 0)
    rows = rows[some_rows(len(rows), members[0].shape[1])]
    if not len(rows):
        return SetPool([1 / len(members)] * len(members))
    scores = torch.tensor(np.stack([log_probability(p[rows]) for p in members], -1))
    target = torch.tensor(sets[rows])

    def loss(logs: Tensor) -> Tensor:
        weights = logs.exp().clamp(max=MOST_WEIGHT)
        return cross_entropy(scores @ weights.to(scores), target)

    logs, _ = minimise(loss, _equal_weights(len(members)))
    return SetPool(_to_weights(logs))


def fit_share(
    of_table: Float[np.ndarray, " cases"], of_product: Float[np.ndarray, " cases"]
) -> float:
    """The share of a product in a mixture with a table, by expectation maximisation.

    Both give the probability of the true label set of each case, 0 where it cannot be.

    Examples
    --------
    >>> round(fit_share(np.array([0.5, 0.5, 0.0]), np.array([0.1, 0.1, 0.1])), 2)
    0.42
    """
    share = 0.5
    for _ in range(200):
        first, second = (1 - share) * of_table, share * of_product
        total = first + second
        possible = total > 0
        share = float((second[possible] / total[possible]).mean()) if len(total) else 0
        share = min(max(share, 1e-3), 1 - 1e-6)
    return share


def log_odds(p: np.ndarray) -> np.ndarray:
    """Log-odds of probabilities kept away from 0 and 1."""
    p = p.clip(LEAST_LABEL, 1 - LEAST_LABEL)
    return np.log(p) - np.log1p(-p)


def log_probability(p: SetProbabilities) -> SetProbabilities:
    """Log of probabilities, those of impossible sets kept finite."""
    return np.log(p + LEAST_SET / p.shape[1])


def some_rows(n_cases: int, width: int) -> np.ndarray:
    """Cases, evenly spaced, whose numbers stay below `MOST_NUMBERS`."""
    step = max(1, -(-n_cases * width // MOST_NUMBERS))
    return np.arange(0, n_cases, step)


def _repeated(
    weight: np.ndarray | None, rows: np.ndarray, known: np.ndarray
) -> Tensor | None:
    if weight is None:
        return None
    return torch.tensor(np.broadcast_to(weight[rows, None], known.shape)[known])


def _to_weights(logs: Sequence[float]) -> list[float]:
    return [float(np.exp(min(log, np.log(MOST_WEIGHT)))) for log in logs]


def _equal_weights(n_members: int) -> list[float]:
    """Logarithms of weights that sum to 1."""
    return [-float(np.log(n_members))] * n_members


def minimise(
    loss: Callable[[Tensor], Tensor], start: Sequence[float]
) -> tuple[list[float], float]:
    """The numbers at the lowest loss near `start`, by L-BFGS, and that loss."""
    numbers = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS(
        [numbers], max_iter=N_ITERATIONS, line_search_fn="strong_wolfe"
    )

    def evaluate() -> Tensor:
        search.zero_grad()
        value = loss(numbers)
        value.backward()
        return value

    with torch.enable_grad():
        search.step(evaluate)
    with torch.no_grad():
        return numbers.detach().tolist(), float(loss(numbers))
