"""Prediction: marginals, label sets and their probabilities from trained models."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.utils.validation import _num_samples, check_is_fitted
from torch import Tensor
from torch.nn.functional import pad

from crbm import checks
from crbm.energies import Energy
from crbm.estimators._encoding import dense, in_pieces
from crbm.estimators.learner import Learner
from crbm.types import Batch

ROWS_AT_ONCE = 1024
TINY = 1e-12


class TopK(NamedTuple):
    """The likeliest label sets of each case, best first, and their probabilities.

    Where there are fewer than k sets, the rest have no labels and probability 0.
    """

    labels: Float[np.ndarray, "cases k labels"]
    probability: Float[np.ndarray, "cases k"]


@dataclass(eq=False, repr=False, kw_only=True)
class StructuredClassifier(ClassifierMixin, TransformerMixin, Learner):  # type: ignore[misc]
    """A classifier whose labels are predicted together."""

    @abstractmethod
    def _log_probability(self, u: Tensor, v: Tensor) -> Float[Tensor, " batch"]:
        """Log p(v | u) of label sets, some labels perhaps unknown."""

    @abstractmethod
    def _top_k(self, u: Tensor, k: int, known: Tensor | None) -> tuple[Tensor, Tensor]:
        """The likeliest label sets and their probabilities, given the known labels."""

    def predict(self, X: Any, known: Any = None) -> np.ndarray:
        """The labels of each case.

        Parameters
        ----------
        X
            Inputs, one row per case.
        known
            Labels that are known already, NaN where they are not; predictions are
            made given them.
        """
        found = [self._labels(*piece) for piece in self._given_pieces(X, known)]
        return self._decoded(np.concatenate(found, dtype=np.int64))

    def predict_batches(self, X: Any, known: Any = None) -> Iterator[np.ndarray]:
        """The same, 1024 cases at a time: where all answers do not fit in memory.

        Examples
        --------
        Inputs in a file are read as they are needed, and need not fit either::

            X = np.load("inputs.npy", mmap_mode="r")
            for labels in classifier.predict_batches(X):
                ...
        """
        for piece in self._given_pieces(X, known):
            yield self._decoded(self._labels(*piece).astype(np.int64))

    def predict_proba(self, X: Any, known: Any = None) -> np.ndarray:
        """p(v_i = 1 | u), one column per label; for a single column one per class."""
        p = self._checked_marginals(X, known)
        # nothing is certain that was only learned from examples
        p = _overruled(p.clip(TINY, 1 - TINY), known)
        return np.hstack([1 - p, p]) if self.single_column_ else p

    def predict_with_proba(
        self, X: Any, known: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Labels as 0 and 1 and p(v_i = 1 | u), one column per label, in one pass."""
        found, labels = [], []
        for u, given in self._given_pieces(X, known):
            found.append(self._marginals(u, given).numpy().astype(np.float64))
            labels.append(self._labels(u, given, found[-1]))
        p = np.concatenate(found).clip(TINY, 1 - TINY)
        return np.concatenate(labels, dtype=np.int64), _overruled(p, known)

    def predict_top_k(self, X: Any, k: int = 5, known: Any = None) -> TopK:
        """The `k` likeliest label sets of each case with their joint probabilities.

        With labels that are `known` (NaN where they are not), only sets that agree with
        them count, and their probabilities are given them.
        """
        check_is_fitted(self)
        checks.whole_number("k", k, at_least=1)
        given = None if known is None else self._encoded(known)
        pieces = self._pieces(X, given)
        found = [padded(*self._top_k(u, k, some), k) for u, some in pieces]
        labels, probability = zip(*found, strict=True)
        return TopK(torch.cat(labels).numpy(), torch.cat(probability).numpy())

    def score_samples(self, X: Any, Y: Any = None) -> Float[np.ndarray, " cases"]:
        """Log p(v | u) of each case's labels; unknown ones (NaN) are summed out.

        Without labels, that of the predicted ones: how sure the prediction is.
        """
        check_is_fitted(self)
        v = self._encoded(self.predict(X) if Y is None else Y)
        found = []
        for u, labels in self._pieces(X, v):
            assert labels is not None
            found.append(self._log_probability(u, labels))
        return torch.cat(found).numpy()

    def condition(self, X: Any, known: Any = None) -> list[Energy]:
        """p(v | u) of each member as an energy, given the known labels."""
        check_is_fitted(self)
        labels = None if known is None else self._encoded(known)
        u, given = zip(*self._pieces(X, labels), strict=True)
        cases = torch.cat(u)
        clamps = None if known is None else torch.cat(given)
        return [model.condition(cases).clamp(clamps) for model in self.models_]

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to one .safetensors file."""
        from crbm.estimators.saved import save

        save(self, path)

    def transform(self, X: Any) -> Float[np.ndarray, "cases labels"]:
        """The marginals as features, named by the labels."""
        return self._checked_marginals(X, None).clip(TINY, 1 - TINY)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the labels."""
        check_is_fitted(self)
        return np.asarray(self.label_names_, dtype=object)

    def _checked_marginals(
        self, X: Any, known: Any
    ) -> Float[np.ndarray, "cases labels"]:
        pieces = self._given_pieces(X, known)
        found = [self._marginals(*piece).numpy() for piece in pieces]
        return np.concatenate(found, dtype=np.float64)

    def _labels(
        self, u: Tensor, known: Tensor | None, p: np.ndarray | None = None
    ) -> np.ndarray:
        """True where a case has a label; `p` are the marginals if known already."""
        if p is None:
            p = self._marginals(u, known).numpy().astype(np.float64)
        given = None if known is None else known.numpy()
        return _overruled(p > self.thresholds_, given)

    def _given_pieces(
        self, X: Any, known: Any
    ) -> Iterator[tuple[Tensor, Tensor | None]]:
        check_is_fitted(self)
        return self._pieces(X, None if known is None else self._encoded(known))

    @torch.no_grad()
    def _marginals(self, u: Tensor, known: Tensor | None) -> Tensor:
        """The mean of the members' marginals."""
        cases = Batch(u, u.new_zeros(len(u), self.n_labels_))
        members = [
            self._infer(model.condition(u).clamp(known), cases).v
            for model in self.models_
        ]
        return torch.stack(members).mean(0)

    def _pieces(
        self, X: Any, labels: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor | None]]:
        """Some rows at a time, made dense only then: memory stays bounded."""
        if labels is not None and len(labels) != _num_samples(X):
            raise ValueError(
                f"Labels need one row per case; `X` has {_num_samples(X)} rows, the "
                f"labels have {len(labels)}."
            )
        start = 0
        for rows in in_pieces(self, X, ROWS_AT_ONCE):
            u = dense(rows, self._dtype)
            known = None if labels is None else labels[start : start + len(u)].to(u)
            yield u, known
            start += len(u)

    def _decoded(self, labels: np.ndarray) -> np.ndarray:
        return self.classes_[labels[:, 0]] if self.single_column_ else labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags


def padded(labels: Tensor, probability: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """k label sets per case, the missing ones empty and of probability 0."""
    missing = (0, k - labels.shape[1])
    return pad(labels, (0, 0, *missing)), pad(probability, missing)


def _overruled(labels: np.ndarray, known: Any) -> np.ndarray:
    """Predictions with what is known put in its place."""
    if known is None:
        return labels
    known = np.asarray(known, dtype=np.float64)
    return np.where(np.isnan(known), labels, np.nan_to_num(known)).astype(labels.dtype)
