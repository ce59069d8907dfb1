"""The one training loop: any model, any objective, any optimiser."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial

import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Generator
from torch.optim import Optimizer

from crbm import checks
from crbm.models import EnergyModel
from crbm.objectives import Objective
from crbm.training.batches import Data, InMemory, Streamed, source
from crbm.training.checkpoint import Checkpoint, kept
from crbm.training.descent import OptimizerFactory
from crbm.training.distributed import ALONE, Ranks, counted
from crbm.training.early_stopping import PredictionError
from crbm.training.history import Epoch, History
from crbm.training.hooks import Hook, told
from crbm.training.progress import shown
from crbm.training.run import Run
from crbm.training.threads import suited_threads
from crbm.types import Batch

DIVERGED = (
    "The loss was no longer finite in epoch {place}; training stopped and kept the "
    "weights of the epoch before. Lower `learning_rate`."
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
    augment: Callable[[Batch, Generator | None], Batch] | None = None,
    optimizer: Optimizer | OptimizerFactory | None = None,
    l2: float = 0.0,
    patience: int | None = None,
    callback: Callable[[int, Epoch], None] | None = None,
    n_threads: int | None = None,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
    progress: bool | None = None,
    ranks: Ranks = ALONE,
) -> History:
    """Train a model in place by mini-batches and tell what happened.

    Parameters
    ----------
    model
        Any model with a free energy.
    objective
        The learning rule; it names states, the model differentiates.
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
        Called after each epoch with its place and record.
    n_threads
        Threads to compute with; chosen by the size of an update unless given. The
        process's own setting is put back afterwards.
    checkpoint
        Where and how often to keep the whole state of the run. Ctrl-C then keeps it
        once more and raises `Interrupted`.
    resume
        Go on from the checkpoint, bit for bit, where there is one.
    progress
        Whether to show how far the run is; only on a terminal unless given.
    ranks
        The processes that train this model together, from `distributed.joined()`: each
        learns from its part of every batch. The first one starts the others, keeps
        checkpoints, shows progress and is called back.

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
    _check(n_epochs, batch_size, learning_rate, l2, patience)
    if not ranks.first:
        checkpoint, resume, progress, callback = None, False, False, None
    if isinstance(validation, Batch):
        validation = PredictionError(validation)
    cases = source(model, data)
    update = ranks.descent(model, optimizer, learning_rate, l2)
    generator = ranks.shared(generator)
    n_cases = getattr(data, "n_cases", None)  # a stream does not tell
    run = Run(model, objective, update, generator, patience, n_cases)
    options = {
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "l2": l2,
        "validation": validation,
        "augment": augment,
    }
    with (
        suited_threads(model, batch_size, n_threads),
        kept(run, n_epochs, checkpoint, cases, options, resume=resume) as keeping,
        shown(run, n_epochs, progress) as showing,
        ranks.together(run),
    ):
        hooks = [*told(callback), *showing, *keeping]
        one_epoch = partial(
            run_epoch,
            run,
            cases,
            batch_size=batch_size,
            augment=augment,
            hooks=hooks,
            ranks=ranks,
        )
        _epochs(run, n_epochs, one_epoch, ranks.agreed(validation), hooks)
    return run.finish()


def _epochs(
    run: Run,
    n_epochs: int,
    one_epoch: Callable[[], float],
    validation: Callable[[EnergyModel], float] | None,
    hooks: Sequence[Hook],
) -> None:
    """Epoch after epoch until one of the reasons to stop."""
    while run.n_epochs < n_epochs and run.history.stopped is None:
        loss = one_epoch()
        if not math.isfinite(loss):
            run.diverge()
            warnings.warn(DIVERGED.format(place=run.n_epochs), ConvergenceWarning, 3)
            return
        run.end_epoch(loss, None if validation is None else validation(run.model))
        for hook in hooks:
            hook.after_epoch(run)


@torch.no_grad()
def run_epoch(
    run: Run,
    data: InMemory | Streamed,
    *,
    batch_size: int,
    augment: Callable[[Batch, Generator | None], Batch] | None = None,
    hooks: Sequence[Hook] = (),
    ranks: Ranks = ALONE,
) -> float:
    """What remains of a pass over the data; the mean loss of the whole pass."""
    model, generator = run.model, run.generator
    for batch in run.remaining(data.batches(batch_size, generator, ranks.part)):
        noise = ranks.noise(generator, run.n_updates)
        if augment is not None:
            batch = augment(batch, noise)
        batch = batch._replace(v=model.flatten_outputs(batch.v))
        with torch.set_grad_enabled(not model.closed_form):
            energy = model.condition(batch.u)
        contrast = run.objective(energy.detach(), batch, noise)
        if batch.weight is not None:
            contrast = contrast.weighted(batch.weight)
        total = ranks.summed(counted(batch, contrast))
        run.update(batch.u, contrast, 1 / total.weight, energy)
        run.count(total.n_cases, total.loss)
        for hook in hooks:
            hook.after_update(run)
    if not run.n_seen:
        raise ValueError(NO_CASES)
    return run.gap


def _check(
    n_epochs: int,
    batch_size: int,
    learning_rate: float,
    l2: float,
    patience: int | None,
) -> None:
    checks.whole_number("n_epochs", n_epochs, at_least=0)
    checks.whole_number("batch_size", batch_size, at_least=1)
    checks.positive("learning_rate", learning_rate)
    checks.not_negative("l2", l2)
    if patience is not None:
        checks.whole_number("patience", patience, at_least=1)
