"""The one training loop: any model, any objective, any optimiser."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Generator
from torch.optim import Optimizer

from crbm import checks
from crbm.models import EnergyModel
from crbm.objectives import Objective, start
from crbm.training.batches import Data, source
from crbm.training.checkpoint import Checkpoint
from crbm.training.distributed import ALONE, Ranks
from crbm.training.early_stopping import EarlyStopping
from crbm.training.history import Epoch, History
from crbm.training.hooks import Callback, Hook
from crbm.training.progress import Progress
from crbm.training.randomness import Randomness
from crbm.training.run import Run, are_finite
from crbm.training.step import Augment, Step
from crbm.training.threads import suited_threads
from crbm.training.update import OptimizerFactory
from crbm.types import Batch

DIVERGED = (
    "The loss or the weights were no longer finite in epoch {place}; training stopped "
    "and kept the weights of the epoch before. Lower `learning_rate` or `l2`, or scale "
    "the inputs."
)

NO_CASES = (
    "The data gave no cases in this epoch. Training reads them once per epoch: pass a "
    "data set that can be read again."
)


def fit(
    model: EnergyModel,
    objective: Objective,
    data: Data,
    *,
    n_epochs: int = 128,
    batch_size: int = 128,
    learning_rate: float = 2**-2,
    generator: Generator | None = None,
    validation: Batch | Callable[[EnergyModel], float] | None = None,
    augment: Augment | None = None,
    optimizer: Optimizer | OptimizerFactory | None = None,
    l2: float = 0.0,
    patience: int | None = None,
    callback: Callable[[int, Epoch], None] | None = None,
    hooks: Sequence[Hook] = (),
    n_threads: int | None = None,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
    progress: bool | None = None,
    ranks: Ranks = ALONE,
) -> History:
    """Train a model in place by mini-batches; return the history of the run.

    Parameters
    ----------
    model
        Any model with a free energy.
    objective
        It names states, the model differentiates.
    data
        The training cases: a `Batch`, or, where they do not fit in memory, a Dataset
        or DataLoader of torch.utils.data with items (u, v) or `Batch`.
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
        Called after each epoch with its index and record.
    hooks
        What else happens during the run: any of `EarlyStopping`, `Checkpoint`,
        `Progress`, `TensorBoard`, `CosineSchedule`, or your own `Hook`. `validation`,
        `patience`, `callback`, `checkpoint`, `resume` and `progress` are short forms.
    n_threads
        Threads to compute with; chosen by the size of an update unless given. The
        process's own setting is restored afterwards.
    checkpoint
        Where and how often to store the state of the run. Ctrl-C then stores it once
        more and raises `Interrupted`.
    resume
        Continue from the checkpoint, bit for bit, where there is one.
    progress
        Whether to show how far the run is; only on a terminal unless given.
    ranks
        The processes that train this model together, from
        `distributed.process_group()`. Each uses its shard of every batch. The first
        one stores checkpoints, shows progress and calls `callback`.

    Notes
    -----
    The model is in training mode during updates, in evaluation mode during validation
    and afterwards.

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
    _check(n_epochs, batch_size, learning_rate, l2)
    cases = source(model, data)
    device = next(model.parameters()).device
    update = ranks.make_update(model, optimizer, learning_rate, l2)
    run = Run(
        model,
        start(objective),
        update,
        Randomness.on(device, ranks.share(generator)),
        n_epochs_total=n_epochs,
        n_cases=getattr(data, "n_cases", None),  # unknown for a stream
        data=cases,
        hooks=ranks.choose_hooks(
            [
                *hooks,
                *_early_stopping(validation, patience),
                *_callback(callback),
                *_checkpoint(checkpoint, resume),
                Progress(progress),
            ]
        ),
        settings={
            "batch_size": batch_size,
            "learning_rate": learning_rate,
            "l2": l2,
            "patience": patience,
            "augment": augment,
        },
    )
    step = ranks.make_step(run, augment)
    with suited_threads(model, batch_size, n_threads), _running_hooks(run):
        while not run.is_over:
            _run_epoch(run, step, batch_size)
    return run.history


@torch.no_grad()
def _run_epoch(run: Run, step: Step, batch_size: int) -> None:
    """What remains of a pass over the data."""
    run.model.train()
    assert run.data is not None
    batches = run.data.batches(batch_size, run.randomness.order, step.shard)
    for batch in run.remaining(batches):
        tally = step(batch, run.randomness, run.n_updates)
        run.count(tally.n_cases, tally.loss)
    if not run.n_seen:
        raise ValueError(NO_CASES)
    loss = run.mean_loss
    if math.isfinite(loss) and are_finite(run.model.parameters()):
        run.end_epoch(loss)
    else:
        run.diverge()
        warnings.warn(DIVERGED.format(place=run.n_epochs), ConvergenceWarning, 3)


@contextmanager
def _running_hooks(run: Run) -> Iterator[None]:
    """Start the hooks, finish them after the run, and close them in any case."""
    try:
        for hook in reversed(run.hooks):
            hook.start(run)
        yield
        for hook in run.hooks:
            hook.finish(run)
    finally:
        run.model.eval()
        for hook in run.hooks:
            hook.close()


def _early_stopping(
    validation: Batch | Callable[[EnergyModel], float] | None, patience: int | None
) -> list[Hook]:
    if patience is not None:
        checks.whole_number("patience", patience, at_least=1)
    return [] if validation is None else [EarlyStopping(validation, patience)]


def _callback(callback: Callable[[int, Epoch], None] | None) -> list[Hook]:
    if callback is None:
        return []
    return [callback] if isinstance(callback, Hook) else [Callback(callback)]


def _checkpoint(checkpoint: Checkpoint | None, resume: bool) -> list[Hook]:
    if checkpoint is None:
        if resume:
            raise ValueError("`resume` needs a `checkpoint` to continue from.")
        return []
    return [replace(checkpoint, resume=True) if resume else checkpoint]


def _check(n_epochs: int, batch_size: int, learning_rate: float, l2: float) -> None:
    checks.whole_number("n_epochs", n_epochs, at_least=0)
    checks.whole_number("batch_size", batch_size, at_least=1)
    checks.positive("learning_rate", learning_rate)
    checks.not_negative("l2", l2)
