"""The one training loop: any model, any objective, any optimiser."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Generator, Tensor
from torch.optim import Optimizer

from crbm import checks
from crbm.models import EnergyModel
from crbm.objectives import Objective
from crbm.training.descent import Descent, OptimizerFactory, descent
from crbm.training.early_stopping import BestWeights, PredictionError, copied
from crbm.training.history import Epoch, History
from crbm.training.threads import suited_threads
from crbm.types import Batch, Cases

DIVERGED = (
    "The loss was no longer finite in epoch {place}; training stopped and kept the "
    "weights of the epoch before. Lower `learning_rate`."
)


def fit(
    model: EnergyModel,
    objective: Objective,
    data: Cases,
    *,
    n_epochs: int = 128,
    batch_size: int = 128,
    learning_rate: float = 2**-2,
    generator: Generator | None = None,
    validation: Batch | Callable[[EnergyModel], float] | None = None,
    augment: Callable[[Batch, Generator | None], Batch] | None = None,
    optimizer: Optimizer | OptimizerFactory | None = None,
    l2: float = 0.0,
    patience: int | None = None,
    callback: Callable[[int, Epoch], None] | None = None,
    n_threads: int | None = None,
) -> History:
    """Train a model in place by mini-batches and tell what happened.

    Parameters
    ----------
    model
        Any model with a free energy.
    objective
        The learning rule; it names states, the model differentiates.
    data
        The training cases.
    n_epochs, batch_size, learning_rate
        Passes over the data, cases per update and step size on the mean gradient.
    generator
        The only source of randomness: the same seed repeats a run bit for bit.
    validation
        Held-out cases, whose prediction error is measured after each epoch, or a
        function from the model to an error. The weights at its lowest are restored.
    augment
        Changes each mini-batch before it is learned from, e.g. with fresh noise.
    optimizer
        An optimiser of torch.optim, or a class of them to build with `learning_rate`;
        plain SGD unless given.
    l2
        Strength of the pull of couplings towards zero.
    patience
        Epochs without a new lowest validation error before stopping early.
    callback
        Called after each epoch with its place and record.
    n_threads
        Threads to compute with; chosen by the size of an update unless given. The
        process's own setting is put back afterwards.

    Examples
    --------
    >>> import crbm, torch
    >>> from crbm import objectives, training
    >>> u = torch.eye(4)
    >>> model = crbm.CRBM(4, 4, 2)
    >>> history = training.fit(
    ...     model, objectives.Perceptron(), crbm.types.Batch(u, u), n_epochs=3,
    ...     generator=torch.Generator().manual_seed(0),
    ... )
    >>> len(history.epochs)
    3
    """
    _check(model, data, n_epochs, batch_size, learning_rate, l2)
    if isinstance(validation, Batch):
        validation = PredictionError(validation)
    update = descent(model, optimizer, learning_rate, l2)
    with suited_threads(model, batch_size, n_threads):
        return _epochs(
            model,
            partial(
                run_epoch,
                model,
                objective,
                data,
                update,
                batch_size=batch_size,
                augment=augment,
                generator=generator,
            ),
            n_epochs,
            validation,
            patience,
            callback,
        )


def _epochs(
    model: EnergyModel,
    run_one: Callable[[], float],
    n_epochs: int,
    validation: Callable[[EnergyModel], float] | None,
    patience: int | None,
    callback: Callable[[int, Epoch], None] | None,
) -> History:
    """Epoch after epoch until one of the reasons to stop."""
    history, best = History(), BestWeights(patience)
    last_good = copied(model)
    for place in range(n_epochs):
        began = time.perf_counter()
        loss = run_one()
        if not math.isfinite(loss):
            model.load_state_dict(last_good)
            history.stopped = "diverged"
            warnings.warn(DIVERGED.format(place=place), ConvergenceWarning, 3)
            break
        last_good = copied(model)
        error = None if validation is None else validation(model)
        epoch = Epoch(loss, error, time.perf_counter() - began)
        history.epochs.append(epoch)
        if callback is not None:
            callback(place, epoch)
        if error is not None:
            best.update(model, error, place)
            if best.exhausted(place):
                history.stopped = "early"
                break
    best.restore(model)
    history.best_epoch = best.epoch
    return history


@torch.no_grad()
def run_epoch(
    model: EnergyModel,
    objective: Objective,
    data: Cases,
    update: Descent,
    *,
    batch_size: int,
    augment: Callable[[Batch, Generator | None], Batch] | None = None,
    generator: Generator | None = None,
) -> float:
    """One pass over the data in random order; the mean loss."""
    total = torch.zeros((), dtype=torch.float64, device=data.v.device)
    for batch in shuffled(data, batch_size, generator):
        if augment is not None:
            batch = augment(batch, generator)
        contrast = objective(model.absorb(batch.u), batch, generator)
        if batch.weight is not None:
            contrast = contrast.weighted(batch.weight)
        update(batch.u, contrast, 1 / _total_weight(batch))
        if contrast.loss is not None:
            total += contrast.loss.sum()
    return float(total) / data.n_cases


def _total_weight(batch: Batch) -> float:
    """What the sum over a batch is divided by to make a mean."""
    if batch.weight is None:
        return float(batch.n_cases)
    return max(float(batch.weight.sum()), torch.finfo(torch.float32).tiny)


def shuffled(
    data: Cases, batch_size: int, generator: Generator | None
) -> Iterator[Batch]:
    """Mini-batches in random order; the last may be smaller."""
    order = torch.randperm(data.n_cases, generator=generator)
    for cases in order.to(data.v.device).split(batch_size):
        yield data.select(cases)


def _check(
    model: EnergyModel,
    data: Cases,
    n_epochs: int,
    batch_size: int,
    learning_rate: float,
    l2: float,
) -> None:
    checks.whole_number("n_epochs", n_epochs, at_least=0)
    checks.whole_number("batch_size", batch_size, at_least=1)
    if not learning_rate > 0:
        raise ValueError(f"`learning_rate` must be positive; got {learning_rate}.")
    if not l2 >= 0:
        raise ValueError(f"`l2` must not be negative; got {l2}.")
    check_cases(model, data)


def check_cases(model: EnergyModel, data: Cases) -> None:
    """Refuse training cases that the model cannot learn from, before any update."""
    parameter: Tensor = next(model.parameters())
    checks.columns("v", data.v, model.n_visible, "output")
    checks.same_kind("v", data.v, parameter)
    checks.binary("v", data.v, missing=True)
    checks.same_length(u=data.u, v=data.v, weight=data.weight)
    if data.n_cases == 0:
        raise ValueError("Training needs at least one case; got none.")
    if data.u is not None:
        n_inputs = getattr(model, "n_inputs", data.u.shape[-1])
        if n_inputs:
            checks.columns("u", data.u, n_inputs, "input")
        checks.same_kind("u", data.u, parameter)
        checks.finite("u", data.u)
