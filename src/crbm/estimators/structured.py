"""The base of all classifiers: scikit-learn's contract around trained models."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from crbm import checks
from crbm.energies import Energy
from crbm.estimators import (
    class_weights,
    convergence,
    defaults,
    encoding,
    files,
    joint,
    members,
    stored_cases,
    thresholds,
)
from crbm.estimators.members import Augment
from crbm.estimators.predictor import LabelSetClassifier
from crbm.models import EnergyModel
from crbm.objectives import Objective
from crbm.preprocessing import KINDS, check_gamma
from crbm.preprocessing.stored import StoredRows
from crbm.training import Hook
from crbm.types import Batch, Cases, Found, Marginals
from crbm.units import BERNOULLI, Units


@dataclass(eq=False, repr=False, kw_only=True)
class StructuredClassifier(LabelSetClassifier):
    """A classifier whose members are energy-based models trained on the cases.

    A subclass defines `_new_model`, `_objective` and `_infer`. It is registered under
    its class name, so that its files can be loaded, and under `short_name` on the
    command line.

    Parameters
    ----------
    n_epochs, batch_size, learning_rate
        Passes over the data, cases per update, step size. "auto" is one that suits the
        optimiser, Adam unless another is given. A number is a plan of your own: then
        other parameters that are "auto" are what they would be without help: plain SGD,
        no penalty and no early stopping.
    preprocessing
        Preparation of the inputs, learned in `fit` and saved with the model: "auto"
        (the scaled inputs or kernel features by which ridge regression predicts
        left-out training cases best; at a learning rate that is given only "centre",
        "none" or "standardise", by the values of the inputs) or one of the kinds of
        `crbm.datasets.pipeline`: "none", "standardise", "centre", "unit-norm",
        "robust", "log", "rank", "kernel", "rbf", "rbf-centre" or "rbf-rank".
    kernel_gamma, kernel_features
        Width parameter of that kernel, in units of one over the number of inputs
        (larger values follow finer differences), and the largest number of features
        (more are slower and often better).
    l2
        Strength of the L2 penalty on the weights; "auto" is 0.01 where the learning
        rate is "auto" too.
    optimizer
        A name ("adam", "adamw", "rmsprop" or "sgd") or a class of torch.optim. None is
        Adam if `learning_rate` is "auto", and plain SGD at a rate that is given.
    input_dropout
        Share of the inputs set to zero in each update, the others scaled up.
    early_stopping
        Hold out `validation_fraction` of the cases and stop when their error has not
        fallen for `patience` epochs; the best weights are kept. "auto" does so where
        the learning rate is "auto" too and there are at least 100 cases.
    stop_by
        What is measured on them: "log_loss", or "error", the share of wrong labels,
        which is the worse guide where few cases are held out.
    thresholds
        What to tune each label's decision threshold for on the held-out cases:
        "hamming", "micro_f1", "macro_f1" or "subset_accuracy"; a half unless given.
    class_weight
        How much a present label counts relative to an absent one: a dict from labels to
        weights (those not named count 1), one weight per label, or "balanced", the
        number of cases without the label per case with it. The odds of a label,
        given the others, are multiplied by its weight, as if cases had been weighted
        by the product of the weights of their labels; probabilities are then those
        of such data. For a single column, a dict from classes to weights.
    warm_start
        Whether `fit` continues from the weights of the last one.
    random_state
        Seed of all randomness, as in scikit-learn.
    n_threads
        Threads to compute with; chosen by size unless given.
    checkpoint_dir, checkpoint_every
        Folder in which `fit` stores its state when it is interrupted and at intervals
        of `checkpoint_every` seconds. Needs a fixed `random_state`, and a separate
        folder for each fit.
    resume
        Whether `fit` continues from the state stored there, bit for bit.
    progress
        Whether to show the progress; None does so on a terminal only.

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
    class_weight_
        The weight of each label.
    label_sets_
        The label sets seen in training, or all of them where there are few labels.
    """

    # The step size of Adam where the learning rate is "auto".
    adam_rate: ClassVar[float] = defaults.RATE
    # scikit-learn wants wrong parameters stored here and refused in `fit`
    __no_type_check__ = True

    preprocessing: str = "auto"
    kernel_gamma: float = 1.0
    kernel_features: int = 1000
    n_epochs: int = 100
    batch_size: int = 32
    learning_rate: float | str = "auto"
    l2: float | str = "auto"
    optimizer: Any = None
    input_dropout: float = 0.0
    early_stopping: bool | str = "auto"
    stop_by: str = "log_loss"
    validation_fraction: float = 0.1
    patience: int = 10
    thresholds: str | None = None
    class_weight: Any = None
    warm_start: bool = False
    random_state: Any = None
    n_threads: int | None = None
    checkpoint_dir: str | Path | None = None
    checkpoint_every: float = 60.0
    resume: bool = False
    progress: bool | None = False

    @property
    def _preprocessing_kind(self) -> str:
        """The preprocessing in use, "auto" resolved."""
        fitted = getattr(self, "preprocessor_", None)
        return self.preprocessing if fitted is None else fitted.kind

    @property
    def _hooks(self) -> tuple[Hook, ...]:
        """What else happens while members are trained."""
        return getattr(self, "_added_hooks", ())

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

    @property
    def _visible(self) -> Units:
        """The kind of output units."""
        return BERNOULLI if self.columns_ is None else self.columns_.units

    def _start(self, model: EnergyModel, data: Batch) -> None:
        """Prepare a model with random weights for the cases that it will learn.

        With the rate "auto" labels start at their base rates, where small data would
        take many epochs to get.
        """
        if self.learning_rate == "auto":
            defaults.start_biases(model, data)

    def _learn_candidates(self, data: Batch, *, more: bool) -> None:
        """Learn which label sets there are; `more` adds to those known before."""
        before = self.label_sets_ if more else None
        self._seen_sets: Tensor = joint.seen_sets(data, self._visible, before)

    def _learn_stored_candidates(self, sample: Batch, blocks: Iterator[Batch]) -> None:
        """Learn which label sets there are, from a sample or from all cases."""
        self._learn_candidates(sample, more=False)

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
        return checks.not_overflowed(torch.stack(means).mean(0), u)

    def _log_probability(self, u: Tensor, v: Tensor) -> Float[Tensor, " batch"]:
        """Log p(v | u) of label sets, some labels perhaps unknown."""
        return joint.log_probability(self.models_, u, v)

    def _top_k(self, u: Tensor, k: int, known: Tensor | None) -> tuple[Tensor, Tensor]:
        """The likeliest label sets and their probabilities, given the known labels."""
        p = self._marginals(u, known)
        rounded = self._round(p).to(u)
        question = joint.Question(u, known, rounded)
        return joint.top_k(self.models_, self.label_sets_, question, k)

    def _round(self, p: Tensor) -> Tensor:
        """The labels that are more likely than not, or the likeliest classes."""
        if self.columns_ is None:
            return p > 0.5
        return torch.from_numpy(self.columns_.choose(p.numpy()))

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain data of this class that a file must hold."""
        return {"observed": self.label_sets_.to(torch.uint8)}, {}

    def _restore(self, tensors: dict[str, Tensor], plain: dict[str, Any]) -> None:
        """Set what `_state` gave."""
        self._seen_sets = tensors["observed"].to(encoding.precision(self))

    def _trained_state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return files.models_state(self)

    def _restore_trained(
        self, tensors: dict[str, Tensor], plain: dict[str, Any]
    ) -> None:
        files.restore_models(self, tensors, plain)

    def _measure(self, held_out: Batch | None) -> None:
        """Learn what only held-out cases can tell, once the members are trained."""
        thresholds.tune(self, held_out)

    def _check_parameters(self) -> None:
        checks.one_of("preprocessing", self.preprocessing, ("auto", *KINDS))
        check_gamma(self.kernel_gamma)
        checks.whole_number("kernel_features", self.kernel_features, at_least=1)
        thresholds.check(self.thresholds)
        class_weights.check(self.class_weight)
        members.check_parameters(self)

    def _check_outputs(self) -> None:
        """Refuse parameters that do not go with the outputs to learn."""
        thresholds.check_outputs(self)

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
            Inputs, one row per case: array, sparse matrix, or frame (pandas, polars,
            pyarrow) of numbers, categories, texts, dates and booleans. Values may be
            missing. Or `StoredRows`, for inputs larger than memory.
        y
            Labels as an indicator matrix (array, frame or sparse; NaN where a label is
            not known), a list of sets of names, or one column of two classes. Where
            the classifier has `several_classes`, also columns of any classes: one
            column, or a matrix or frame of several (NaN or None where not known).
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
        with members.all_or_nothing(self):
            if isinstance(X, StoredRows):
                stored_cases.fit(self, X, y, sample_weight, validation, augment)
            else:
                self._fit(X, y, sample_weight, validation, augment)
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, validation: Any, augment: Any
    ) -> None:
        continued = self.warm_start and hasattr(self, "models_")
        if continued:  # on copies, which an interrupted fit leaves behind
            self.models_: list[EnergyModel] = copy.deepcopy(self.models_)
        elif hasattr(self, "models_"):
            del self.models_
        data = encoding.fit_data(self, X, y, sample_weight)
        self._check_outputs()
        generator = encoding.fit_generator(self.random_state)
        train, held_out = members.hold_out(self, data, validation, generator)
        self._learn_candidates(train, more=False)
        if not continued:
            self._make_models(generator, train)
        else:
            class_weights.remove(self)
        self.histories_ = members.train(
            self, train, held_out, self.n_epochs, generator, augment, stored=True
        )
        class_weights.apply(self, train)
        self.n_iter_ = max(len(history.epochs) for history in self.histories_)
        self._measure(held_out)
        convergence.warn(self, train, held_out)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> StructuredClassifier:
        """Make one more pass over these cases, keeping what was learned before.

        `classes` names the classes of a single column on the first call.
        """
        self._check_parameters()
        with members.all_or_nothing(self):
            self._partial_fit(X, y, classes, sample_weight)
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        first = not hasattr(self, "models_")
        if first:
            data = encoding.fit_data(self, X, y, sample_weight, classes, in_parts=True)
            self._check_outputs()
            self._generator = encoding.fit_generator(self.random_state)
            self._make_models(self._generator, data)
            thresholds.tune(self, None)
        else:
            data = encoding.more_data(self, X, y, sample_weight)
        if not hasattr(self, "_generator"):
            self._generator = encoding.fit_generator(self.random_state)
        self._learn_candidates(data, more=not first)
        class_weights.remove(self)
        self.histories_ = members.train(self, data, None, 1, self._generator)
        class_weights.apply(self, data)
        self.n_iter_ = max(len(history.epochs) for history in self.histories_)

    def _make_models(self, generator: Generator, data: Batch) -> None:
        assert data.u is not None
        self.models_ = [
            self._new_model(data.u.shape[1], generator).to(data.v.dtype)
            for _ in range(self._n_members)
        ]
        for model in self.models_:
            self._start(model, data)

    # Members

    def training_summary(self) -> dict[str, Any]:
        """Epochs, loss, validation error and time of the last fit."""
        history = self.histories_[0]
        best = history.best_epoch
        return {
            "preprocessing": self._preprocessing_kind,
            "epochs": self.n_iter_,
            "loss": history.loss[-1] if history.epochs else None,
            "validation": None if best is None else history.validation[best],
            "stopped": history.stopped,
            "seconds": sum(e.seconds for h in self.histories_ for e in h.epochs),
        }

    @torch.no_grad()
    def condition(self, X: Any, known: Any = None) -> list[Energy]:
        """p(v | u) of each member as an energy, given the known labels."""
        u, given = zip(*self._pieces(X, known), strict=True)
        clamps = None if known is None else torch.cat(given)
        cases = torch.cat(u)
        return [model.condition(cases).detach().clamp(clamps) for model in self.models_]
