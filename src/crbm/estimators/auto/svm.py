"""A support vector machine for each pair of label sets, and their votes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import SVC
from torch import Tensor

# Numbers in the largest temporary of a prediction.
LARGEST_TABLE = 2**24
# Cases whose label set is among the most frequent ones are learned from.
MOST_CLASSES = 400


class SetSVM:
    """Scores of label sets: each pair of them votes by an SVM with an RBF kernel.

    A label set's score is the share of the pairs that it wins, plus less than one vote
    for how clearly it wins them.

    Parameters
    ----------
    C
        What margin errors cost.
    gamma
        The kernel is exp(-gamma |x - y|^2 / m), m the median of |x - y|^2.

    Attributes
    ----------
    classes
        The rows of the table of label sets that have scores: those seen at least twice.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.5], [0.6], [1.0], [1.1]])
    >>> svm = SetSVM(C=10.0).fit(X, np.array([0, 0, 3, 3, 1, 1]))
    >>> svm.classes
    array([0, 1, 3])
    >>> svm.classes[svm.scores(X).argmax(1)]
    array([0, 0, 3, 3, 1, 1])
    """

    def __init__(self, C: float = 4.0, gamma: float = 2.0) -> None:
        self.C, self.gamma = C, gamma

    def fit(
        self, X: Float[np.ndarray, "cases inputs"], sets: Int[np.ndarray, " cases"]
    ) -> SetSVM:
        """Learn from cases and their label sets; -1 and rare sets are left out."""
        self.classes = frequent_sets(sets)
        known = np.isin(sets, self.classes)
        X = np.asarray(X, dtype=np.float32)[known]
        places = np.searchsorted(self.classes, sets[known])
        squares = euclidean_distances(X, squared=True)
        apart = squares[squares > 0]
        self.rate = self.gamma / float(np.median(apart) if len(apart) else 1.0)
        machine = SVC(C=self.C, kernel="precomputed", cache_size=500)
        machine.fit(np.exp(-self.rate * squares), places)
        self.vectors = X[machine.support_]
        dual, self.intercepts = machine.dual_coef_, machine.intercept_
        if len(self.classes) == 2:  # scikit-learn turns the signs of two classes
            dual, self.intercepts = -dual, -self.intercepts
        self.dual = np.asarray(dual, dtype=np.float32)
        self.ends = np.concatenate([[0], np.cumsum(machine.n_support_)])
        return self

    def scores(
        self, X: Float[np.ndarray, "cases inputs"]
    ) -> Float[np.ndarray, "cases classes"]:
        """The share of won pairs of each of the `classes`."""
        X = np.asarray(X, dtype=np.float32)
        step = max(1, LARGEST_TABLE // len(self.classes) ** 2)
        parts = [self._scores(X[i : i + step]) for i in range(0, len(X), step)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.classes)))

    def _scores(self, X: np.ndarray) -> np.ndarray:
        margins = self._margins(X)
        won = (margins > 0).sum(1, dtype=np.float64)
        clearness = margins.sum(1, dtype=np.float64)
        scores = won + clearness / (3 * (np.abs(clearness) + 1))
        return scores.T / len(self.classes)

    def _margins(self, X: np.ndarray) -> np.ndarray:
        """By how much a class wins against each other one, (class, other, case)."""
        n_classes = len(self.classes)
        squares = euclidean_distances(X, self.vectors, squared=True)
        kernel = np.exp(-self.rate * squares)
        # of each pair, what the support vectors of its first class add for that class
        own_side = np.zeros((n_classes, n_classes, len(X)), dtype=np.float32)
        for own in range(n_classes):
            part = slice(self.ends[own], self.ends[own + 1])
            against = self.dual[:, part] @ kernel[:, part].T
            own_side[own, :own], own_side[own, own + 1 :] = (
                -against[:own],
                against[own:],
            )
        first, second = np.triu_indices(n_classes, 1)
        own_side[first, second] += self.intercepts[:, None].astype(np.float32)
        margins = own_side - own_side.transpose(1, 0, 2)
        return margins

    def state(self) -> dict[str, Tensor]:
        """Everything that predictions need, as named tensors."""
        return {
            "classes": torch.from_numpy(self.classes.astype(np.int64)),
            "vectors": torch.from_numpy(self.vectors),
            "dual": torch.from_numpy(self.dual),
            "intercepts": torch.from_numpy(self.intercepts.astype(np.float64)),
            "ends": torch.from_numpy(self.ends.astype(np.int64)),
            "rate": torch.tensor([self.rate], dtype=torch.float64),
        }

    @classmethod
    def restored(
        cls, tensors: Mapping[str, Tensor], n_inputs: int, n_sets: int
    ) -> SetSVM:
        """The machines whose `state` this was; raises if it is inconsistent."""
        svm = cls()
        svm.classes = tensors["classes"].numpy()
        svm.vectors, svm.dual = tensors["vectors"].numpy(), tensors["dual"].numpy()
        svm.intercepts, svm.ends = (
            tensors["intercepts"].numpy(),
            tensors["ends"].numpy(),
        )
        n, (svm.rate,) = len(svm.classes), tensors["rate"].tolist()
        shapes = [svm.vectors.shape, svm.dual.shape, svm.intercepts.shape]
        n_vectors = len(svm.vectors)
        sound = (
            shapes == [(n_vectors, n_inputs), (n - 1, n_vectors), (n * (n - 1) // 2,)]
            and svm.rate > 0
            and svm.ends.shape == (n + 1,)
            and svm.ends[0] == 0
            and svm.ends[-1] == n_vectors
            and (np.diff(svm.ends) >= 0).all()
            and svm.classes.min(initial=0) >= 0
            and svm.classes.max(initial=0) < n_sets
        )
        if not sound:
            raise ValueError("the support vectors do not fit the label sets")
        return svm


def frequent_sets(sets: Int[np.ndarray, " cases"]) -> Int[np.ndarray, " classes"]:
    """The most frequent label sets that occur at least twice, in order.

    Examples
    --------
    >>> frequent_sets(np.array([4, 2, 2, -1, -1, 4, 7]))
    array([2, 4])
    """
    found, counts = np.unique(sets[sets >= 0], return_counts=True)
    found, counts = found[counts >= 2], counts[counts >= 2]
    most = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    return np.sort(found[most])
