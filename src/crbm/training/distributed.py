"""Data-parallel training under torchrun: each rank learns from a shard of each batch.

The gradients are summed, so that all ranks together take the very steps that one
process takes on the whole batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, distributed as dist
from torch.optim import Optimizer

from crbm.models import EnergyModel
from crbm.training.batches import Shard
from crbm.training.early_stopping import EarlyStopping
from crbm.training.hooks import Hook
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


@dataclass(frozen=True)
class Ranks:
    """The processes that train one model together, seen from one of them.

    A single process is a special case that costs nothing. Make it with `process_group`.
    """

    rank: int = 0
    n_ranks: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the rank that writes files and shows progress."""
        return self.rank == 0

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

    def choose_hooks(self, hooks: Sequence[Hook]) -> list[Hook]:
        """The hooks of this rank, and one that keeps all ranks together."""
        if self.n_ranks == 1:
            return list(hooks)
        own = [hook for hook in hooks if self.first or hook.on_every_rank]
        for hook in own:
            if isinstance(hook, EarlyStopping):
                hook.validation = self._validation_of_first(hook.validation)
        return [*own, Synchronised()]

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
        return Shard(self.ranks.rank, self.ranks.n_ranks)

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
        dist.all_reduce(numbers)
        return Tally(int(numbers[0]), float(numbers[1]), numbers[2])


class Synchronised(Hook):
    """Starts all ranks from the state of the first and sums their gradients."""

    priority = 3
    on_every_rank = True

    def start(self, run: Run) -> None:
        states = [run.state()]
        dist.broadcast_object_list(states, src=0)
        run.restore(states[0])
        assert isinstance(run.update, TorchUpdate)
        self._summing = run.update.optimizer.register_step_pre_hook(_sum_gradients)

    def finish(self, run: Run) -> None:
        _check_same(run.model)

    def close(self) -> None:
        if hasattr(self, "_summing"):
            self._summing.remove()


ALONE = Ranks()


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
    if not dist.is_torchelastic_launched():
        yield ALONE
        return
    dist.init_process_group()
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size())
        dist.barrier()  # a rank that leaves early would cut off the others
    finally:
        dist.destroy_process_group()


def _sum_gradients(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    """All gradients in one message: small messages cost more than their bytes."""
    gradients = [
        weight.grad
        for group in optimizer.param_groups
        for weight in group["params"]
        if weight.grad is not None
    ]
    message = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(message)
    sizes = [gradient.numel() for gradient in gradients]
    for gradient, total in zip(gradients, message.split(sizes), strict=True):
        gradient.copy_(total.view_as(gradient))


def _check_same(model: EnergyModel) -> None:
    """Refuse to end with weights that differ between ranks."""
    sums = torch.stack([weight.double().sum() for weight in model.parameters()])
    mine = torch.cat([sums, -sums])
    largest = mine.clone()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    if not torch.equal(largest, mine):
        raise RuntimeError(DIFFERENT)
