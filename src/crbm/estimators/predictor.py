"""What all classifiers of label sets share: predictions, files, tags."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn.functional import pad

from crbm import checks
from crbm.estimators import encoding, files, inputs, label_sets
from crbm.hashing.arrays import from_torch
from crbm.preprocessing import ClassColumns

TINY = 1e-12


class TopK(NamedTuple):
    """The likeliest label sets of each case, best first, and their probabilities.

    Where there are fewer than k sets, the rest have no labels and probability 0.

    `labels` holds 0 and 1 per label, (cases, k, labels); for columns of classes the
    classes themselves, (cases, k, columns), or (cases, k) for a single column.
    """

    labels: np.ndarray
    probability: Float[np.ndarray, "cases k"]


class LabelSetClassifier(ClassifierMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that predicts the labels of a case together.

    A subclass defines `fit` and how the probabilities of labels and label sets are
    computed for some rows. It is registered under its class name, so that its files can
    be loaded, and under `short_name` on the command line.
    """

    registry: ClassVar[dict[str, type[LabelSetClassifier]]] = {}
    short_name: ClassVar[str | None] = None
    # Whether joint probabilities cost no more than predictions.
    has_cheap_joint: ClassVar[bool] = False
    # Whether columns may have more than two classes.
    several_classes: ClassVar[bool] = False
    # The classes of each column, where they are not just 0 and 1.
    columns_: ClassColumns | None = None
    # Values of parameters that files of earlier versions do not name.
    earlier_defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        LabelSetClassifier.registry[cls.__name__] = cls

    # What a subclass defines

    @property
    @abstractmethod
    def label_sets_(self) -> Tensor:
        """The label sets seen in training, or all where there are few labels."""

    @abstractmethod
    def _marginals(self, u: Tensor, known: Tensor | None) -> Tensor:
        """p(v_i = 1 | u) given the known labels."""

    @abstractmethod
    def _log_probability(self, u: Tensor, v: Tensor) -> Float[Tensor, " batch"]:
        """Log p(v | u) of label sets, some labels perhaps unknown."""

    @abstractmethod
    def _top_k(self, u: Tensor, k: int, known: Tensor | None) -> tuple[Tensor, Tensor]:
        """The likeliest label sets and their probabilities, given the known labels."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain data of this class that a file must hold."""

    @abstractmethod
    def _restore(self, tensors: dict[str, Tensor], plain: dict[str, Any]) -> None:
        """Set what `_state` gave."""

    @abstractmethod
    def _trained_state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain data of what was trained."""

    @abstractmethod
    def _restore_trained(
        self, tensors: dict[str, Tensor], plain: dict[str, Any]
    ) -> None:
        """Set what `_trained_state` gave."""

    @abstractmethod
    def training_summary(self) -> dict[str, Any]:
        """The main figures of the last fit as plain data, for reports."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse wrong values of parameters."""

    def _labels(
        self, u: Tensor, known: Tensor | None, p: np.ndarray | None = None
    ) -> np.ndarray:
        """True where a case has a label; `p` are the marginals, if at hand."""
        if p is None:
            p = self._marginals(u, known).numpy().astype(np.float64)
        given = None if known is None else known.numpy()
        chosen = self.columns_.choose(p) if self.columns_ else p > self.thresholds_
        return with_known(chosen, given)

    # Prediction

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
        labels = [self._labels(*piece) for piece in self._pieces(X, known)]
        return encoding.decode_labels(self, np.concatenate(labels, dtype=np.int64))

    def predict_batches(self, X: Any, known: Any = None) -> Iterator[np.ndarray]:
        """The labels, 1024 cases at a time: where all of them do not fit in memory.

        Examples
        --------
        Inputs in a file are read as they are needed, and need not fit either::

            X = np.load("inputs.npy", mmap_mode="r")
            for labels in classifier.predict_batches(X):
                ...
        """
        for piece in self._pieces(X, known):
            yield encoding.decode_labels(self, self._labels(*piece).astype(np.int64))

    def predict_proba(self, X: Any, known: Any = None) -> Any:
        """p(v_i = 1 | u), one column per label.

        For a single column of classes one column per class; for several columns a list
        with one such array for each, as in scikit-learn.
        """
        p = with_known(self._all_marginals(X, known), self._encode_known(known))
        if self.columns_ is not None:
            return p if self.single_column_ else self.columns_.split(p)
        return np.hstack([1 - p, p]) if self.single_column_ else p

    def _encode_known(self, known: Any) -> Any:
        return None if known is None else encoding.encode_labels(self, known).numpy()

    def predict_with_proba(
        self, X: Any, known: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Labels as 0 and 1 and p(v_i = 1 | u), one column per label, in one pass.

        Columns of classes have one such column per class.
        """
        probabilities, labels = [], []
        for u, given in self._pieces(X, known):
            probabilities.append(self._marginals(u, given).numpy().astype(np.float64))
            labels.append(self._labels(u, given, probabilities[-1]))
        p = np.concatenate(probabilities).clip(TINY, 1 - TINY)
        p = with_known(p, self._encode_known(known))
        return np.concatenate(labels, dtype=np.int64), p

    def predict_top_k(self, X: Any, k: int = 5, known: Any = None) -> TopK:
        """The `k` likeliest label sets of each case with their joint probabilities.

        With labels that are `known` (NaN where they are not), only sets that agree with
        them count, and their probabilities are given them.
        """
        checks.whole_number("k", k, at_least=1)
        parts = [pad_sets(*self._top_k(u, k, v), k) for u, v in self._pieces(X, known)]
        sets, probability = zip(*parts, strict=True)
        labels = torch.cat(sets).to(torch.int64).numpy()
        if self.columns_ is not None:
            labels = encoding.decode_labels(self, labels)
        return TopK(labels, torch.cat(probability).numpy())

    def score_samples(self, X: Any, Y: Any = None) -> Float[np.ndarray, " cases"]:
        """Log p(v | u) of each case's labels; unknown ones (NaN) are summed out.

        Without labels, that of the predicted ones: how sure the prediction is.
        """
        check_is_fitted(self)
        scores = []
        for u, v in self._pieces(X, self.predict(X) if Y is None else Y):
            assert v is not None
            scores.append(self._log_probability(u, v))
        return torch.cat(scores).numpy()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of cases whose labels are all predicted correctly."""
        if self.columns_ is not None and not self.single_column_:
            truth = encoding.encode_labels(self, y).numpy()
            predicted = encoding.encode_labels(self, self.predict(X)).numpy()
            right = (truth == predicted).all(1)
            return float(np.average(right, weights=sample_weight))
        if label_sets.is_sets(y) or inputs.is_table(y):
            y = encoding.encode_labels(self, y).numpy()
        return float(super().score(X, y, sample_weight))

    def transform(self, X: Any) -> Float[np.ndarray, "cases labels"]:
        """The marginals as features, named by the labels."""
        return self._all_marginals(X, None)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the labels."""
        check_is_fitted(self)
        return np.asarray(self.label_names_, dtype=object)

    def _all_marginals(self, X: Any, known: Any) -> Float[np.ndarray, "cases labels"]:
        """The marginals of all cases, clipped to the open interval (0, 1)."""
        parts = [self._marginals(*piece).numpy() for piece in self._pieces(X, known)]
        return np.concatenate(parts, dtype=np.float64).clip(TINY, 1 - TINY)

    def _pieces(
        self, X: Any, labels: Any = None
    ) -> Iterator[tuple[Tensor, Tensor | None]]:
        """Some cases at a time, with their labels where these are given."""
        check_is_fitted(self)
        v = None if labels is None else encoding.encode_labels(self, labels)
        return encoding.rows_at_a_time(self, X, v)

    # Files

    def describe(
        self,
        *,
        label_names: Sequence[str] | None = None,
        trained_on: dict[str, Any] | None = None,
        examples: Any = None,
        output_shape: Sequence[int] | None = None,
    ) -> LabelSetClassifier:
        """Add a description that is saved with the classifier.

        Parameters
        ----------
        label_names
            Names of the labels, or of the columns of classes, where `fit` got them
            without.
        trained_on
            Plain data about the training data, e.g. their name and feature names.
        examples
            Rows of inputs to try the classifier on: an array, a frame or a table.
        output_shape
            Height and width, where the labels are the pixels of an image.
        """
        check_is_fitted(self)
        if label_names is not None and self.columns_ is not None:
            self.columns_ = self.columns_.rename(label_names)
            self.label_names_ = self.columns_.label_names
        elif label_names is not None:
            self.label_names_ = list(label_names)
        if trained_on is not None:
            self.trained_on_ = dict(trained_on)
        if examples is not None:
            self.examples_ = inputs.to_examples(self, examples)
        if output_shape is not None:
            self.output_shape_ = tuple(output_shape)
        return self

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to one .safetensors file."""
        files.save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = self.several_classes
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags


def pad_sets(labels: Tensor, probability: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """k label sets per case, the missing ones empty and of probability 0."""
    missing = (0, k - labels.shape[1])
    return pad(labels, (0, 0, *missing)), pad(probability, missing)


def with_known(labels: np.ndarray, known: Any) -> np.ndarray:
    """Predictions with the known labels in their place."""
    if known is None:
        return labels
    known = np.asarray(from_torch(known), dtype=np.float64)
    return np.where(np.isnan(known), labels, np.nan_to_num(known)).astype(labels.dtype)
