"""Data-parallel training under torchrun: each rank learns from a shard of each batch.

The gradients are summed, so that all ranks together take the very steps that one
process takes on the whole batches.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Generator, Tensor, distributed as dist, nn
from torch.optim import Optimizer

from crbm.models import EnergyModel
from crbm.training import one_machine
from crbm.training.batch_norm import joint_statistics
from crbm.training.batches import InMemory, Shard
from crbm.training.early_stopping import EarlyStopping
from crbm.training.gradient_sum import GradientSum
from crbm.training.hooks import Hook
from crbm.training.one_machine import OneMachine
from crbm.training.randomness import Randomness, derived_seed
from crbm.training.run import Run
from crbm.training.step import Augment, Step, Tally
from crbm.training.update import (
    OptimizerFactory,
    PlainUpdate,
    TorchUpdate,
    make_update,
)

DIFFERENT = (
    "The ranks ended with different weights. Each must run the same script on the same "
    "data, with the same settings."
)
DIFFERENT_CASES = (
    "The ranks have different training cases. Each must run the same script on the "
    "same data, with a fixed `random_state` wherever something is drawn."
)
# How long ranks wait for work that only the first one does.
LONGEST_WAIT = timedelta(days=30)

# torchrun's variables are inherited by the children of a rank, which are no ranks: this
# one holds the id of the process that torchrun started.
PROCESS = "CRBM_RANK_PROCESS"
if dist.is_available() and dist.is_torchelastic_launched():
    os.environ.setdefault(PROCESS, str(os.getpid()))

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """The processes that train one model together, seen from one of them.

    A single process is a special case that costs nothing. Make it with `process_group`.

    Parameters
    ----------
    rank, n_ranks
        Which of how many processes this is.
    machine
        All ranks, if they are on one machine.
    """

    rank: int = 0
    n_ranks: int = 1
    machine: OneMachine | None = field(default=None, repr=False, compare=False)

    @property
    def first(self) -> bool:
        """Whether this is the rank that writes files and shows progress."""
        return self.rank == 0

    @property
    def shard(self) -> Shard:
        """Which cases of each batch are this rank's."""
        return Shard(self.rank, self.n_ranks)

    def same(self, value: T) -> T:
        """The first rank's value on all ranks."""
        if self.n_ranks == 1:
            return value
        values = [value]
        dist.broadcast_object_list(values, src=0)
        return values[0]

    def from_first(self, work: Callable[[], T]) -> T:
        """What work on the first rank alone returns or raises, on all ranks."""
        if self.n_ranks == 1:
            return work()
        group = dist.new_group(backend="gloo", timeout=LONGEST_WAIT)
        found: list[Any] = [None, None]
        if self.first:
            try:
                with separate():
                    found[0] = work()
            except Exception as error:
                found[1] = error
        dist.broadcast_object_list(found, src=0, group=group)
        dist.destroy_process_group(group)
        if found[1] is not None:
            raise found[1]
        return found[0]

    def share(self, generator: Generator | None) -> Generator | None:
        """The generator that all ranks share; a new one where none is given."""
        if generator is not None or self.n_ranks == 1:
            return generator
        return Generator().manual_seed(torch.initial_seed())

    def make_update(
        self,
        model: EnergyModel,
        optimizer: Optimizer | OptimizerFactory | None,
        learning_rate: float,
        l2: float,
    ) -> PlainUpdate | TorchUpdate:
        """How this rank moves its weights; each adds its share of the L2 penalty."""
        if optimizer is None and self.n_ranks > 1:
            optimizer = torch.optim.SGD  # plain SGD has no gradients to sum
        return make_update(model, optimizer, learning_rate, l2 / self.n_ranks)

    def gradient_sum(self, model: nn.Module) -> Callable[[], None]:
        """Sums the gradients of a model; for one rank it does nothing."""
        if self.n_ranks == 1:
            return lambda: None
        return GradientSum(model.parameters(), self.machine)

    def sum(self, numbers: Tensor) -> None:
        """Replace a few numbers by their sums over all ranks."""
        if self.machine is not None and numbers.device.type == "cpu":
            self.machine.sum(numbers)
        else:
            dist.all_reduce(numbers)

    def choose_hooks(self, hooks: Sequence[Hook]) -> list[Hook]:
        """The hooks of this rank, and one that keeps all ranks together."""
        if self.n_ranks == 1:
            return list(hooks)
        own = [hook for hook in hooks if self.first or hook.on_every_rank]
        for hook in own:
            if isinstance(hook, EarlyStopping):
                hook.validation = self._validation_of_first(hook.validation)
        return [*own, Synchronised(self)]

    def make_step(self, run: Run, augment: Augment | None) -> Step:
        """How this rank learns from its shard of a batch."""
        parts = (run.model, run.objective, run.update, augment)
        return Step(*parts) if self.n_ranks == 1 else RankStep(*parts, ranks=self)

    def _validation_of_first(
        self, validation: Callable[[EnergyModel], float]
    ) -> Callable[[EnergyModel], float]:
        """The first rank's validation for all, so that all stop together."""

        def error_of_first(model: EnergyModel) -> float:
            device = next(model.parameters()).device
            error = torch.zeros((), dtype=torch.float64, device=device)
            if self.first:
                error.fill_(validation(model))
            dist.broadcast(error, src=0)
            return float(error)

        return error_of_first


@dataclass(frozen=True)
class RankStep(Step):
    """A step on this rank's shard of a batch."""

    ranks: Ranks = Ranks()

    @property
    def shard(self) -> Shard:
        return self.ranks.shard

    def noise(self, randomness: Randomness, n_updates: int) -> Generator | None:
        # It follows from the shared generator, which stays the same on all ranks and
        # draws only the order of the cases: a run can be resumed after any update
        # without a state per rank.
        shared = randomness.order
        assert shared is not None
        ranks, device = self.ranks, next(self.model.parameters()).device
        seed = derived_seed(shared) + n_updates * ranks.n_ranks + ranks.rank
        return Generator(device).manual_seed(seed)

    def total(self, tally: Tally) -> Tally:
        loss = 0.0 if tally.loss is None else float(tally.loss.sum())
        device = None if tally.loss is None else tally.loss.device
        numbers = torch.tensor(
            [tally.n_cases, tally.weight, loss], dtype=torch.float64, device=device
        )
        self.ranks.sum(numbers)
        return Tally(int(numbers[0]), float(numbers[1]), numbers[2])


class Synchronised(Hook):
    """Starts all ranks from the state of the first and sums their gradients."""

    priority = 3
    on_every_rank = True

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks

    def start(self, run: Run) -> None:
        if isinstance(run.data, InMemory):
            u, v = run.data.cases.u, run.data.cases.v
            check_same_cases(v if u is None else u, v)
        states = [run.state()]
        dist.broadcast_object_list(states, src=0)
        run.restore(states[0])
        assert isinstance(run.update, TorchUpdate)
        sum_gradients = self.ranks.gradient_sum(run.model)
        self._summing = run.update.optimizer.register_step_pre_hook(
            lambda optimizer, args, kwargs: sum_gradients()
        )
        self._statistics = joint_statistics(run.model)
        self._statistics.__enter__()

    def finish(self, run: Run) -> None:
        check_same_weights(run.model)

    def close(self) -> None:
        if hasattr(self, "_summing"):
            self._summing.remove()
            self._statistics.__exit__(None, None, None)


ALONE = Ranks()
_joined: Ranks | None = None
_separate = False


def current() -> Ranks:
    """The ranks that estimators train on: those that torchrun started, or one process.

    The first call joins them, so that every rank must make it; they stay joined until
    the process ends.
    """
    global _joined
    if _separate or not _is_rank():
        return ALONE
    if _joined is not None:
        return _joined
    if not dist.is_initialized():
        # Optimizers import it. If they do so later, it keeps the group alive beyond the
        # end of the process, which then aborts now and then.
        import torch._dynamo  # noqa: F401

        dist.init_process_group()
        atexit.register(dist.destroy_process_group)
    machine = one_machine.join()
    _joined = Ranks(dist.get_rank(), dist.get_world_size(), machine)
    return _joined


def writes_files() -> bool:
    """Whether this is the first rank of torchrun, or no rank; joins nothing."""
    return _separate or not _is_rank() or os.environ["RANK"] == "0"


def _is_rank() -> bool:
    """Whether torchrun started this very process."""
    return os.environ.get(PROCESS) == str(os.getpid())


@contextmanager
def separate() -> Iterator[None]:
    """Fit estimators on each rank by itself inside this context.

    Examples
    --------
    >>> with separate():
    ...     print(current())
    Ranks(rank=0, n_ranks=1)
    """
    global _separate
    before, _separate = _separate, True
    try:
        yield
    finally:
        _separate = before


@contextmanager
def process_group() -> Iterator[Ranks]:
    """The ranks that torchrun started this script on; one process outside of it.

    Sums go over gloo on CPUs and over nccl on GPUs.

    Examples
    --------
    >>> with process_group() as ranks:
    ...     print(ranks)
    Ranks(rank=0, n_ranks=1)
    """
    ranks = current()
    yield ranks
    if ranks.n_ranks > 1:
        dist.barrier()  # a rank that leaves early would cut off the others


def check_same_weights(model: nn.Module) -> None:
    """Refuse to end with weights that differ between ranks."""
    sums = torch.stack([weight.double().sum() for weight in model.parameters()])
    _check_same(sums, DIFFERENT, tolerance=0.0)


def check_same_cases(u: Tensor, v: Tensor) -> None:
    """Refuse to start from cases that differ between ranks.

    Preprocessing may round differently on different machines.
    """
    totals = [float(x.nan_to_num().double().abs().sum()) for x in (u, v)]
    numbers = [*map(float, (*u.shape, *v.shape)), *totals]
    sums = torch.tensor(numbers, dtype=torch.float64, device=v.device)
    _check_same(sums, DIFFERENT_CASES, tolerance=1e-4)


def _check_same(sums: Tensor, message: str, tolerance: float) -> None:
    """Raise unless a few numbers are the same on all ranks."""
    mine = torch.cat([sums, -sums])
    largest = mine.clone()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    if not torch.allclose(largest, mine, rtol=tolerance, atol=0.0):
        raise RuntimeError(message)
