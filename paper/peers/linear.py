"""Logistic regression per label, and ensembles of classifier chains.

All labels have the same penalty, so that their regressions are one convex problem with
many outputs, which is solved at once. The solution is that of scikit-learn's
`LogisticRegression`, label by label.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from crbm.preprocessing import Preprocessor


class LogisticRegressions:
    """One L2-regularised logistic regression per label.

    Parameters
    ----------
    C
        Inverse strength of the penalty, as in scikit-learn.
    scale
        How inputs are scaled; see `crbm.preprocessing.pipeline`.
    """

    def __init__(self, C: float = 1.0, scale: str = "standardise") -> None:
        self.C, self.scale = C, scale

    def fit(self, X: np.ndarray, Y: np.ndarray) -> LogisticRegressions:
        """Fit all labels."""
        self.scaler = Preprocessor(self.scale).fit(X)
        self.weight, self.bias = solve(self.scaler.transform(X), Y, self.C)
        return self

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Log-odds of each label."""
        return self.scaler.transform(X) @ self.weight + self.bias


class ChainEnsemble:
    """Classifier chains of logistic regressions in random orders, averaged.

    Each regression has the labels before it in its chain as further inputs: the true
    ones in training, the predicted ones at prediction.

    Parameters
    ----------
    C, scale
        As for `LogisticRegressions`.
    n_chains
        Number of chains.
    """

    def __init__(
        self, C: float = 1.0, scale: str = "standardise", n_chains: int = 10
    ) -> None:
        self.C, self.scale, self.n_chains = C, scale, n_chains

    def fit(self, X: np.ndarray, Y: np.ndarray) -> ChainEnsemble:
        """Fit all chains."""
        rng = np.random.default_rng(0)
        self.scaler = Preprocessor(self.scale).fit(X)
        inputs = np.hstack([self.scaler.transform(X), Y]).astype(np.float32)
        self.orders = [rng.permutation(Y.shape[1]) for _ in range(self.n_chains)]
        self.chains = []
        for order in self.orders:
            place = order.argsort()
            earlier = place[:, None] < place  # label i is an input of label j
            mask = np.vstack([np.ones((X.shape[1], Y.shape[1]), bool), earlier])
            self.chains.append(solve(inputs, Y, self.C, mask))
        return self

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Log-odds of the mean probability of each label."""
        u = self.scaler.transform(X)
        p = np.mean(
            [
                self._probabilities(u, *both)
                for both in zip(self.orders, self.chains, strict=True)
            ],
            axis=0,
        ).clip(1e-6, 1 - 1e-6)
        return np.log(p) - np.log1p(-p)

    def _probabilities(self, u: np.ndarray, order: Any, chain: Any) -> np.ndarray:
        weight, bias = chain
        n_inputs = u.shape[1]
        logits = u @ weight[:n_inputs] + bias
        for label in order:
            present = logits[:, label] > 0
            logits[present] += weight[n_inputs + label]
        return expit(logits)


def solve(
    X: np.ndarray, Y: np.ndarray, C: float, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and biases that minimise log loss + |weights|^2 / (2 C).

    `mask` says which weights may differ from 0. A label that is constant in training
    gets the log-odds of add-one smoothing and no weights.
    """
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    shape = (X.shape[1] + 1, Y.shape[1])
    base = (Y.sum(0) + 1) / (len(Y) + 2)
    start = np.zeros(shape)
    start[-1] = np.log(base / (1 - base))
    varies = np.ptp(Y, axis=0) > 0
    free = varies if mask is None else mask & varies

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        parameters = flat.reshape(shape).astype(np.float32)
        weight, bias = parameters[:-1], parameters[-1]
        logits = X @ weight + bias
        error = expit(logits) - Y
        value = np.logaddexp(0, logits).sum(dtype=np.float64)
        value += -(Y * logits).sum(dtype=np.float64) + (weight**2).sum() / (2 * C)
        gradient = np.empty(shape)
        gradient[:-1] = (X.T @ error + weight / C) * free
        gradient[-1] = error.sum(0) * varies
        return value, gradient.ravel()

    options = {"maxiter": 200, "ftol": 1e-7, "gtol": 1e-3}
    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    parameters = found.x.reshape(shape).astype(np.float32)
    return parameters[:-1], parameters[-1]
