"""Training the members of a classifier: held-out cases, models, one fit each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Generator
from torch.utils.data import DataLoader

from crbm import checks, sampling, training
from crbm.estimators import checkpoints, defaults
from crbm.estimators.encoding import dense, encode_labels, to_inputs
from crbm.training import History, distributed
from crbm.training.early_stopping import MEASURES
from crbm.types import Batch

Augment = Callable[[Batch, Generator | None], Batch]


def check_parameters(classifier: Any) -> None:
    """Refuse wrong training parameters."""
    checkpoints.check(classifier)
    checks.one_of("stop_by", classifier.stop_by, MEASURES)
    checks.unit_interval("input_dropout", classifier.input_dropout, open_end=True)
    defaults.check_learning_rate(classifier.learning_rate)
    defaults.check_optimizer(classifier.optimizer)
    defaults.check_l2(classifier.l2)
    defaults.check_early_stopping(classifier.early_stopping)
    checks.whole_number("patience", classifier.patience, at_least=1)
    fraction = classifier.validation_fraction
    if not 0 < checks.number("validation_fraction", fraction) < 1:
        raise ValueError(
            f"`validation_fraction` must lie between 0 and 1; got {fraction}."
        )


@contextmanager
def all_or_nothing(classifier: Any) -> Iterator[None]:
    """Put back all attributes if the fit inside this context is interrupted."""
    before = dict(classifier.__dict__)
    try:
        yield
    except BaseException:
        classifier.__dict__ = before
        raise


def hold_out(
    classifier: Any, data: Batch, validation: Any, generator: Generator
) -> tuple[Batch, Batch | None]:
    """Cases to learn from, and cases for early stopping and thresholds, if needed."""
    if validation is not None:
        X, Y = _pair(validation)
        u = dense(to_inputs(classifier, X, reset=False), data.v.dtype)
        v = encode_labels(classifier, Y).to(u)
        checks.same_length(X=u, y=v)
        return data, Batch(u, v)
    stops = defaults.early_stopping(classifier, data.n_cases)
    if not stops and classifier.thresholds is None:
        return data, None
    fraction = classifier.validation_fraction
    n_held_out = round(fraction * data.n_cases)
    if not 0 < n_held_out < data.n_cases:
        raise ValueError(
            "Early stopping and thresholds need cases to hold out and cases to "
            f"learn from; `validation_fraction`={fraction} holds out {n_held_out} of "
            f"{data.n_cases}. Change it, or pass `validation`."
        )
    order = torch.randperm(data.n_cases, generator=generator)
    return data.select(order[n_held_out:]), data.select(order[:n_held_out])


def train(
    classifier: Any,
    data: Batch | DataLoader[Batch],
    held_out: Batch | None,
    n_epochs: int,
    generator: Generator,
    augment: Augment | None = None,
    *,
    stored: bool = False,
) -> list[History]:
    """Train each model of the classifier; with `stored`, in resumable runs."""
    is_batch, error = isinstance(data, Batch), None
    cases = classifier._with_candidates(data) if is_batch else data
    if held_out is not None:
        held_out_cases = classifier._with_candidates(held_out)
        error = training.PredictionError(
            held_out_cases, classifier._infer, classifier.stop_by
        )
    n_cases = data.n_cases if isinstance(data, Batch) else 0
    n_cases += 0 if held_out is None else held_out.n_cases
    stops = held_out is not None and defaults.early_stopping(classifier, n_cases)
    options = checkpoints.run_options(classifier, stored=stored)
    ranks = distributed.current()
    with checkpoints.locked_folder(classifier, stored=stored and ranks.first):
        return [
            training.fit(
                model,
                classifier._objective(),
                cases,
                n_epochs=n_epochs,
                batch_size=classifier.batch_size,
                learning_rate=defaults.learning_rate(classifier),
                generator=generator,
                validation=error,
                augment=augment or _input_dropout(classifier.input_dropout),
                optimizer=defaults.optimizer(classifier),
                l2=defaults.l2(classifier),
                patience=classifier.patience if stops else None,
                n_threads=classifier.n_threads,
                hooks=classifier._hooks,
                ranks=ranks,
                **own,
            )
            for model, own in zip(classifier.models_, options, strict=True)
        ]


def drop_inputs(batch: Batch, generator: Generator | None, *, share: float) -> Batch:
    """The batch with a share of its inputs set to zero and the others scaled up."""
    assert batch.u is not None
    remaining = sampling.bernoulli(torch.full_like(batch.u, 1 - share), generator)
    return batch._replace(u=batch.u * remaining / (1 - share))


def _input_dropout(share: float) -> Augment | None:
    return partial(drop_inputs, share=share) if share else None


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
