"""Support vector machines with an RBF kernel: one per label, or one on label sets."""

from __future__ import annotations

from collections import Counter

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import SVC

from crbm.preprocessing import Preprocessor

# Label sets that an SVM tells apart; the rarer ones are left out of its training.
MOST_SETS = 400
CUT_OFF = 8.0  # standard deviations


class Kernel:
    """exp(-gamma |x - y|^2 / m) of scaled inputs; m is the median of |x - y|^2."""

    def __init__(self, gamma: float, scale: str) -> None:
        self.gamma, self.scale = gamma, scale

    def fit(self, X: np.ndarray) -> np.ndarray:
        """The kernel between training cases."""
        self.scaler = Preprocessor(self.scale).fit(X)
        self.X = self.scaler.transform(X).clip(-CUT_OFF, CUT_OFF)
        squares = euclidean_distances(self.X, squared=True)
        self.width = float(np.median(squares[squares > 0]))
        return np.exp(squares * (-self.gamma / self.width))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """The kernel between cases and training cases."""
        X = self.scaler.transform(X).clip(-CUT_OFF, CUT_OFF)
        squares = euclidean_distances(X, self.X, squared=True)
        return np.exp(squares * (-self.gamma / self.width))


class LabelSVM:
    """One SVM per label, with the same kernel."""

    def __init__(
        self, C: float = 1.0, gamma: float = 1.0, scale: str = "standardise"
    ) -> None:
        self.C, self.kernel = C, Kernel(gamma, scale)

    def fit(self, X: np.ndarray, Y: np.ndarray) -> LabelSVM:
        """Fit all labels; a constant one has no machine."""
        kernel = self.kernel.fit(X)
        self.constant = np.where(Y[0] == 1, 1.0, -1.0)
        self.machines = {
            i: SVC(C=self.C, kernel="precomputed", cache_size=500).fit(kernel, y)
            for i, y in enumerate(Y.T)
            if np.ptp(y)
        }
        return self

    def scores(self, X: np.ndarray) -> np.ndarray:
        """The decision values of each label."""
        kernel = self.kernel(X)
        values = np.tile(self.constant, (len(X), 1))
        for i, machine in self.machines.items():
            values[:, i] = machine.decision_function(kernel)
        return values


class SetSVM:
    """One SVM whose classes are the label sets seen in training."""

    def __init__(
        self, C: float = 1.0, gamma: float = 1.0, scale: str = "standardise"
    ) -> None:
        self.C, self.kernel = C, Kernel(gamma, scale)

    def fit(self, X: np.ndarray, Y: np.ndarray) -> SetSVM:
        """Fit the most frequent label sets."""
        counts = Counter(map(bytes, np.ascontiguousarray(Y, dtype=np.uint8)))
        kept = {key for key, _ in counts.most_common(MOST_SETS)}
        rows = [bytes(y) in kept for y in np.ascontiguousarray(Y, dtype=np.uint8)]
        self.table, classes = np.unique(Y[rows], axis=0, return_inverse=True)
        if len(self.table) > 1:
            machine = SVC(C=self.C, kernel="precomputed", cache_size=500)
            self.machine = machine.fit(self.kernel.fit(X[rows]), classes.ravel())
        return self

    def scores(self, X: np.ndarray) -> np.ndarray:
        """The decision values of each label set."""
        if len(self.table) == 1:
            return np.zeros((len(X), 1))
        values = self.machine.decision_function(self.kernel(X))
        return values if values.ndim == 2 else np.stack([-values, values], axis=1)
