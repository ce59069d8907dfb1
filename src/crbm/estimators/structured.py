"""The base of all classifiers: scikit-learn's contract around trained models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Generator, Tensor
from torch.nn.functional import pad

from crbm import checks, decisions
from crbm.energies import Energy
from crbm.estimators import encoding, files, joint, members
from crbm.estimators.members import Augment
from crbm.models import EnergyModel
from crbm.objectives import Objective
from crbm.preprocessing import KINDS, check_gamma
from crbm.types import Batch, Cases, Found, Marginals

METRICS = (None, "hamming", "micro_f1", "macro_f1", "subset_accuracy")
TINY = 1e-12


class TopK(NamedTuple):
    """The likeliest label sets of each case, best first, and their probabilities.

    Where there are fewer than k sets, the rest have no labels and probability 0.
    """

    labels: Int64[np.ndarray, "cases k labels"]
    probability: Float[np.ndarray, "cases k"]


@dataclass(eq=False, repr=False, kw_only=True)
class StructuredClassifier(ClassifierMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier whose labels are predicted together; the base of all of ours.

    A subclass defines `_new_model`, `_objective` and `_infer`. It is registered under
    its class name, so that its files can be loaded, and under `short_name` on the
    command line.

    Parameters
    ----------
    n_epochs, batch_size, learning_rate
        Passes over the data, cases per update, step size.
    preprocessing
        Preparation of the inputs, learned in `fit` and saved with the model:
        "none", "standardise", "unit-norm", "robust", "log", "rank" or "kernel"
        (features of an RBF kernel), see `crbm.datasets.pipeline`.
    kernel_gamma, kernel_features
        Width parameter of that kernel, in units of one over the number of inputs
        (larger values follow finer differences), and the largest number of features
        (more are slower and often better).
    l2
        Strength of the L2 penalty on the weights.
    optimizer
        A class of torch.optim, e.g. `torch.optim.Adam`; plain SGD unless given.
    input_dropout
        Share of the inputs set to zero in each update, the others scaled up.
    early_stopping
        Hold out `validation_fraction` of the cases and stop when their error has not
        fallen for `patience` epochs; the best weights are kept.
    stop_by
        What is measured on them: "error", the share of wrong labels, or "log_loss",
        which is the better guide where few cases are held out.
    thresholds
        What to tune each label's decision threshold for on the held-out cases:
        "hamming", "micro_f1", "macro_f1" or "subset_accuracy"; a half unless given.
    warm_start
        Whether `fit` continues from the weights of the last one.
    random_state
        Seed of all randomness, as in scikit-learn.
    n_threads
        Threads to compute with; chosen by size unless given.
    checkpoint_dir
        Folder in which `fit` stores its state every minute and when it is interrupted;
        needs a fixed `random_state`, and each fit a folder of its own.
    resume
        Whether `fit` continues from the state stored there, bit for bit.
    progress
        Whether to show how far training is; None does so on a terminal only.

    Attributes
    ----------
    models_
        The trained members.
    histories_
        The record of each member's training.
    classes_, label_names_, n_labels_
        What the labels are.
    thresholds_
        Each label's decision threshold.
    label_sets_
        The label sets seen in training, or all of them where there are few labels.
    """

    # scikit-learn wants wrong parameters stored here and refused in `fit`
    __no_type_check__ = True

    preprocessing: str = "none"
    kernel_gamma: float = 1.0
    kernel_features: int = 1000
    n_epochs: int = 50
    batch_size: int = 32
    learning_rate: float = 2**-4
    l2: float = 0.0
    optimizer: Any = None
    input_dropout: float = 0.0
    early_stopping: bool = False
    stop_by: str = "error"
    validation_fraction: float = 0.1
    patience: int = 10
    thresholds: str | None = None
    warm_start: bool = False
    random_state: Any = None
    n_threads: int | None = None
    checkpoint_dir: str | Path | None = None
    resume: bool = False
    progress: bool | None = False

    registry: ClassVar[dict[str, type[StructuredClassifier]]] = {}
    short_name: ClassVar[str | None] = None
    # Whether joint probabilities cost no more than predictions.
    has_cheap_joint: ClassVar[bool] = False
    # Values of parameters that files of earlier versions do not name.
    earlier_defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        StructuredClassifier.registry[cls.__name__] = cls

    # What a subclass defines

    @abstractmethod
    def _new_model(self, n_inputs: int, generator: Generator | None) -> EnergyModel:
        """A model of the right size with random weights."""

    @abstractmethod
    def _objective(self) -> Objective:
        """The objective of training."""

    @abstractmethod
    def _infer(self, energy: Energy, cases: Batch) -> Found | Marginals:
        """p(v_i = 1 | u) of each label under one model."""

    # What a subclass may override

    @property
    def label_sets_(self) -> Tensor:
        """The label sets seen in training, or all where there are few labels."""
        return self._seen_sets

    @property
    def _n_members(self) -> int:
        return 1

    def _start(self, model: EnergyModel, data: Batch) -> None:
        """Prepare a model with random weights for the cases that it will learn."""

    def _learn_candidates(self, data: Batch, *, more: bool) -> None:
        """Learn which label sets there are; `more` adds to those known before."""
        before = self.label_sets_ if more else None
        self._seen_sets: Tensor = joint.seen_sets(data, before)

    def _with_candidates(self, data: Batch) -> Cases:
        """The cases with the outputs that are possible for them, if these are few."""
        return data

    @torch.no_grad()
    def _marginals(self, u: Tensor, known: Tensor | None) -> Tensor:
        """p(v_i = 1 | u) given the known labels: the mean of the members."""
        cases = Batch(u, u.new_zeros(len(u), self.n_labels_))
        means = [
            self._infer(model.condition(u).clamp(known), cases).v
            for model in self.models_
        ]
        return torch.stack(means).mean(0)

    def _log_probability(self, u: Tensor, v: Tensor) -> Float[Tensor, " batch"]:
        """Log p(v | u) of label sets, some labels perhaps unknown."""
        return joint.log_probability(self.models_, u, v)

    def _top_k(self, u: Tensor, k: int, known: Tensor | None) -> tuple[Tensor, Tensor]:
        """The likeliest label sets and their probabilities, given the known labels."""
        rounded = (self._marginals(u, known) > 0.5).to(u)
        question = joint.Question(u, known, rounded)
        return joint.top_k(self.models_, self.label_sets_, question, k)

    def _labels(
        self, u: Tensor, known: Tensor | None, p: np.ndarray | None = None
    ) -> np.ndarray:
        """True where a case has a label; `p` are the marginals, if at hand."""
        if p is None:
            p = self._marginals(u, known).numpy().astype(np.float64)
        given = None if known is None else known.numpy()
        return with_known(p > self.thresholds_, given)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain data of this class that a file must hold."""
        return {"observed": self.label_sets_.to(torch.uint8)}, {}

    def _restore(self, tensors: dict[str, Tensor], plain: dict[str, Any]) -> None:
        """Set what `_state` gave."""
        self._seen_sets = tensors["observed"].to(encoding.precision(self))

    def _check_parameters(self) -> None:
        checks.one_of("preprocessing", self.preprocessing, KINDS)
        check_gamma(self.kernel_gamma)
        checks.whole_number("kernel_features", self.kernel_features, at_least=1)
        checks.one_of("thresholds", self.thresholds, METRICS)
        members.check_parameters(self)

    # Learning

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: Any = None,
        augment: Augment | None = None,
    ) -> StructuredClassifier:
        """Learn from inputs X and labels y.

        Parameters
        ----------
        X
            Inputs, one row per case: array, frame or sparse matrix.
        y
            Labels as an indicator matrix (array, frame or sparse; NaN where a label is
            not known), or one column of two classes.
        sample_weight
            How much each case counts.
        validation
            A pair of held-out X and y for early stopping and thresholds, instead of a
            part of the training cases.
        augment
            Changes each mini-batch, its inputs already preprocessed, before it is
            learned from, e.g. with fresh noise; called with a `Batch` and a generator.
        """
        self._check_parameters()
        fresh = not (self.warm_start and hasattr(self, "models_"))
        if fresh and hasattr(self, "models_"):
            del self.models_
        data = encoding.fit_data(self, X, y, sample_weight)
        generator = encoding.to_generator(self.random_state)
        train, held_out = members.hold_out(self, data, validation, generator)
        self._learn_candidates(train, more=False)
        if fresh:
            self._make_models(generator, train)
        self.histories_ = members.train(
            self, train, held_out, self.n_epochs, generator, augment, stored=True
        )
        self.n_iter_ = max(len(history.epochs) for history in self.histories_)
        self._tune_thresholds(held_out)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> StructuredClassifier:
        """Make one more pass over these cases, keeping what was learned before.

        `classes` names the two classes of a single column on the first call.
        """
        self._check_parameters()
        first = not hasattr(self, "models_")
        if first:
            data = encoding.fit_data(self, X, y, sample_weight, classes)
            self._generator = encoding.to_generator(self.random_state)
            self._make_models(self._generator, data)
            self.thresholds_ = np.full(self.n_labels_, 0.5)
        else:
            data = encoding.more_data(self, X, y, sample_weight)
        if not hasattr(self, "_generator"):
            self._generator = encoding.to_generator(self.random_state)
        self._learn_candidates(data, more=not first)
        self.histories_ = members.train(self, data, None, 1, self._generator)
        self.n_iter_ = max(len(history.epochs) for history in self.histories_)
        return self

    def _make_models(self, generator: Generator, data: Batch) -> None:
        assert data.u is not None
        self.models_ = [
            self._new_model(data.u.shape[1], generator).to(data.v.dtype)
            for _ in range(self._n_members)
        ]
        for model in self.models_:
            self._start(model, data)

    def _tune_thresholds(self, held_out: Batch | None) -> None:
        self.thresholds_ = np.full(self.n_labels_, 0.5)
        if self.thresholds is None or held_out is None:
            return
        assert held_out.u is not None
        p = self._marginals(held_out.u, None).numpy().astype(np.float64)
        truth = held_out.v.numpy().astype(np.float64)
        self.thresholds_ = decisions.tuned_thresholds(self.thresholds, truth, p)

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

    def predict_proba(self, X: Any, known: Any = None) -> np.ndarray:
        """p(v_i = 1 | u), one column per label; for a single column one per class."""
        p = with_known(self._all_marginals(X, known), known)
        return np.hstack([1 - p, p]) if self.single_column_ else p

    def predict_with_proba(
        self, X: Any, known: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Labels as 0 and 1 and p(v_i = 1 | u), one column per label, in one pass."""
        probabilities, labels = [], []
        for u, given in self._pieces(X, known):
            probabilities.append(self._marginals(u, given).numpy().astype(np.float64))
            labels.append(self._labels(u, given, probabilities[-1]))
        p = np.concatenate(probabilities).clip(TINY, 1 - TINY)
        return np.concatenate(labels, dtype=np.int64), with_known(p, known)

    def predict_top_k(self, X: Any, k: int = 5, known: Any = None) -> TopK:
        """The `k` likeliest label sets of each case with their joint probabilities.

        With labels that are `known` (NaN where they are not), only sets that agree with
        them count, and their probabilities are given them.
        """
        checks.whole_number("k", k, at_least=1)
        parts = [padded(*self._top_k(u, k, v), k) for u, v in self._pieces(X, known)]
        labels, probability = zip(*parts, strict=True)
        return TopK(
            torch.cat(labels).to(torch.int64).numpy(), torch.cat(probability).numpy()
        )

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

    @torch.no_grad()
    def condition(self, X: Any, known: Any = None) -> list[Energy]:
        """p(v | u) of each member as an energy, given the known labels."""
        u, given = zip(*self._pieces(X, known), strict=True)
        clamps = None if known is None else torch.cat(given)
        cases = torch.cat(u)
        return [model.condition(cases).detach().clamp(clamps) for model in self.models_]

    def transform(self, X: Any) -> Float[np.ndarray, "cases labels"]:
        """The marginals as features, named by the labels."""
        return self._all_marginals(X, None)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the labels."""
        check_is_fitted(self)
        return np.asarray(self.label_names_, dtype=object)

    def _all_marginals(self, X: Any, known: Any) -> Float[np.ndarray, "cases labels"]:
        """The marginals of all cases, kept inside (0, 1)."""
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
    ) -> StructuredClassifier:
        """Attach what a file of this classifier should tell its readers.

        Parameters
        ----------
        label_names
            Names of the labels, where `fit` got them without.
        trained_on
            Plain data about the training data, e.g. their name and feature names.
        examples
            Rows of inputs to try the classifier on.
        output_shape
            Height and width, where the labels are the pixels of an image.
        """
        check_is_fitted(self)
        if label_names is not None:
            self.label_names_ = list(label_names)
        if trained_on is not None:
            self.trained_on_ = dict(trained_on)
        if examples is not None:
            self.examples_ = np.asarray(examples)
        if output_shape is not None:
            self.output_shape_ = tuple(output_shape)
        return self

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to one .safetensors file."""
        files.save(self, path)

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


def with_known(labels: np.ndarray, known: Any) -> np.ndarray:
    """Predictions with the known labels in their place."""
    if known is None:
        return labels
    known = np.asarray(known, dtype=np.float64)
    return np.where(np.isnan(known), labels, np.nan_to_num(known)).astype(labels.dtype)
