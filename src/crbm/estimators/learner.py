"""Fitting: from arrays and labels to trained models, by scikit-learn's contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from crbm import checks, sampling, training
from crbm.energies import Energy
from crbm.estimators import long_runs
from crbm.estimators import thresholds as decision
from crbm.estimators._encoding import dense, to_generator, to_inputs
from crbm.estimators.encoder import Encoder
from crbm.models import EnergyModel
from crbm.objectives import Objective
from crbm.training.early_stopping import MEASURES
from crbm.types import Batch, Cases, Found, Marginals

Augment = Callable[[Batch, Generator | None], Batch]
METRICS = (None, "hamming", "macro_f1", "subset_accuracy")


@dataclass(eq=False, repr=False, kw_only=True)
class Learner(Encoder, ABC):
    """Labels predicted together; the training parameters of all four classifiers.

    Parameters
    ----------
    n_epochs, batch_size, learning_rate
        Passes over the data, cases per update, step size.
    preprocessing
        How the inputs are prepared; learned in `fit` and kept with the model:
        "none", "standardise", "unit-norm", "robust", "log", "rank" or "kernel"
        (features of an RBF kernel), see `crbm.datasets.pipeline`.
    kernel_gamma, kernel_features
        How narrow that kernel is, in units of one over the number of inputs, larger
        values following finer differences between inputs; and how many features to
        make of it at most, more being slower and often better.
    l2
        Strength of the pull of couplings towards zero.
    optimizer
        A class of torch.optim, e.g. `torch.optim.Adam`; plain SGD unless given.
    input_dropout
        Share of the inputs set to zero in each update, the others scaled up.
    early_stopping
        Hold out `validation_fraction` of the cases and stop when their error has not
        fallen for `patience` epochs; the best weights are kept.
    stop_by
        What that error is: "error", the share of wrong labels, or "log_loss", which
        also sees how sure the predictions are; better where few cases are held out.
    thresholds
        What to tune each label's decision threshold for on the held-out cases:
        "hamming", "macro_f1" or "subset_accuracy"; a half unless given.
    warm_start
        Whether `fit` goes on from the weights it left.
    random_state
        Seed of all randomness, as in scikit-learn.
    n_threads
        Threads to compute with; chosen by size unless given.
    checkpoint_dir
        Folder in which `fit` keeps its state every minute and when it is interrupted;
        needs a fixed `random_state`, and each fit a folder of its own.
    resume
        Whether `fit` goes on from what it finds there, bit for bit.
    progress
        Whether to show how far training is; None does so on a terminal only.
    """

    # scikit-learn wants wrong parameters stored here and refused in `fit`
    __no_type_check__ = True

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

    @abstractmethod
    def _new_model(self, n_inputs: int, generator: Generator) -> EnergyModel:
        """A model of the right size with random weights."""

    @abstractmethod
    def _objective(self) -> Objective:
        """The learning rule."""

    @abstractmethod
    def _infer(self, energy: Energy, cases: Batch) -> Found | Marginals:
        """p(v_i = 1 | u) of each label under one model."""

    @abstractmethod
    def _marginals(self, u: Tensor, known: Tensor | None) -> Tensor:
        """p(v_i = 1 | u) of each label, given the known ones."""

    def _learn_candidates(self, data: Batch, *, more: bool) -> None:
        """Prepare what limits the outputs; nothing here."""

    def _with_candidates(self, data: Batch) -> Cases:
        """The cases with their candidates; none here."""
        return data

    @property
    def _n_members(self) -> int:
        return 1

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: Any = None,
        augment: Augment | None = None,
    ) -> Learner:
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
            Changes each mini-batch, its inputs already prepared, before it is learned
            from, e.g. with fresh noise; called with a `Batch` and a generator.
        """
        self._check_parameters()
        fresh = not (self.warm_start and hasattr(self, "models_"))
        if fresh and hasattr(self, "models_"):
            del self.models_
        data = self._fit_data(X, y, sample_weight)
        generator = to_generator(self.random_state)
        train, held_out = self._held_out(data, validation, generator)
        self._learn_candidates(train, more=False)
        if fresh:
            self._start_models(generator, train)
        self._train(train, held_out, self.n_epochs, generator, augment, kept=True)
        self._tune_thresholds(held_out)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Learner:
        """Go through these cases once more, keeping what was learned before.

        `classes` names the two classes of a single column on the first call.
        """
        self._check_parameters()
        first = not hasattr(self, "models_")
        if first:
            data = self._fit_data(X, y, sample_weight, classes)
            self._generator = to_generator(self.random_state)
            self._start_models(self._generator, data)
        else:
            cases = self._cases(to_inputs(self, X, reset=False), self._encoded(y))
            data = self._weighted(cases, sample_weight)
        if not hasattr(self, "_generator"):
            self._generator = to_generator(self.random_state)
        self._learn_candidates(data, more=not first)
        self._train(data, None, 1, self._generator)
        if first:
            self.thresholds_ = np.full(self.n_labels_, 0.5)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        long_runs.check(self)
        checks.one_of("thresholds", self.thresholds, METRICS)
        checks.one_of("stop_by", self.stop_by, MEASURES)
        checks.unit_interval("input_dropout", self.input_dropout, open_end=True)
        checks.positive("learning_rate", self.learning_rate)
        checks.not_negative("l2", self.l2)
        checks.whole_number("patience", self.patience, at_least=1)
        if not 0 < checks.number("validation_fraction", self.validation_fraction) < 1:
            raise ValueError(
                "`validation_fraction` must lie between 0 and 1; got "
                f"{self.validation_fraction}."
            )
        if not (self.optimizer is None or callable(self.optimizer)):
            raise TypeError(
                "`optimizer` must be a class of torch.optim, e.g. torch.optim.Adam; "
                f"got {self.optimizer!r}."
            )

    def _held_out(
        self, data: Batch, validation: Any, generator: Generator
    ) -> tuple[Batch, Batch | None]:
        if validation is not None:
            X, Y = _pair(validation)
            u = dense(to_inputs(self, X, reset=False), data.v.dtype)
            v = self._encoded(Y).to(u)
            checks.same_length(X=u, y=v)
            return data, Batch(u, v)
        if not self.early_stopping and self.thresholds is None:
            return data, None
        n_held_out = round(self.validation_fraction * data.n_cases)
        if not 0 < n_held_out < data.n_cases:
            raise ValueError(
                "Early stopping and thresholds need cases to hold out and cases to "
                f"learn from; `validation_fraction`={self.validation_fraction} holds "
                f"out {n_held_out} of {data.n_cases}. Change it, or pass `validation`."
            )
        order = torch.randperm(data.n_cases, generator=generator)
        return data.select(order[n_held_out:]), data.select(order[:n_held_out])

    def _start_models(self, generator: Generator, data: Batch) -> None:
        self._make_models(generator, data.v.dtype)
        for model in self.models_:
            self._start(model, data)

    def _make_models(self, generator: Generator, dtype: torch.dtype) -> None:
        self.models_ = [
            self._new_model(self._n_inputs, generator).to(dtype)
            for _ in range(self._n_members)
        ]

    def _start(self, model: EnergyModel, data: Batch) -> None:
        """Prepare a model with random weights for the cases that it will learn."""

    def _train(
        self,
        data: Batch,
        held_out: Batch | None,
        n_epochs: int,
        generator: Generator,
        augment: Augment | None = None,
        *,
        kept: bool = False,
    ) -> None:
        cases, error = self._with_candidates(data), None
        if held_out is not None:
            error = training.PredictionError(
                self._with_candidates(held_out), self._infer, self.stop_by
            )
        self.histories_ = [
            training.fit(
                model,
                self._objective(),
                cases,
                n_epochs=n_epochs,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                generator=generator,
                validation=error,
                augment=augment or self._augmentation(),
                optimizer=self.optimizer,
                l2=self.l2,
                patience=self.patience if self.early_stopping else None,
                n_threads=self.n_threads,
                **options,
            )
            for model, options in zip(
                self.models_, long_runs.run_options(self, kept=kept), strict=True
            )
        ]
        self.n_iter_ = max(len(history.epochs) for history in self.histories_)

    def _augmentation(self) -> Augment | None:
        if not self.input_dropout:
            return None
        return partial(drop_inputs, share=self.input_dropout)

    def _tune_thresholds(self, held_out: Batch | None) -> None:
        self.thresholds_ = np.full(self.n_labels_, 0.5)
        if self.thresholds is None or held_out is None:
            return
        assert held_out.u is not None
        p = self._marginals(held_out.u, None).numpy().astype(np.float64)
        truth = held_out.v.numpy().astype(np.float64)
        self.thresholds_ = decision.tuned(self.thresholds, truth, p)


def _pair(validation: Any) -> tuple[Any, Any]:
    """Held-out inputs and labels."""
    try:
        X, Y = validation
    except (TypeError, ValueError):
        raise TypeError(
            "`validation` must be a pair (X, y) of held-out cases; got "
            f"{type(validation).__name__}. For a share of the cases use "
            "`validation_fraction`."
        ) from None
    return X, Y


def drop_inputs(batch: Batch, generator: Generator | None, *, share: float) -> Batch:
    """The batch with a share of its inputs set to zero and the others scaled up."""
    assert batch.u is not None
    kept = torch.full_like(batch.u, 1 - share)
    kept = sampling.bernoulli(kept, generator)
    return batch._replace(u=batch.u * kept / (1 - share))
