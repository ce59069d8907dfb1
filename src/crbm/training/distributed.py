"""Data-parallel training under torchrun: each rank learns from a part of each batch.

The gradients are summed, so that all ranks together take the very steps that one
process takes on the whole batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor
from torch import distributed as dist
from torch.optim import Optimizer

from crbm.models import EnergyModel
from crbm.training.batches import Part, derived_seed
from crbm.training.descent import (
    OptimizerFactory,
    PlainDescent,
    TorchDescent,
    descent,
)
from crbm.training.run import Run
from crbm.types import Batch, Contrast

DIFFERENT = (
    "The ranks ended with different weights. Each must run the same script on the same "
    "data, with the same settings."
)


class Counted(NamedTuple):
    """What one update is about: its cases, their total weight, their losses."""

    n_cases: int
    weight: float
    loss: Tensor | None


@dataclass(frozen=True)
class Ranks:
    """The processes that train one model together, seen from one of them.

    A single process is a special case that costs nothing. Make it with `joined`.
    """

    rank: int = 0
    n_ranks: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the rank that writes files and shows progress."""
        return self.rank == 0

    @property
    def part(self) -> Part:
        """Which cases of each batch are this rank's."""
        return Part(self.rank, self.n_ranks)

    def shared(self, generator: Generator | None) -> Generator | None:
        """The generator that all ranks share; a new one where none is given."""
        if generator is not None or self.n_ranks == 1:
            return generator
        return Generator().manual_seed(torch.initial_seed())

    def descent(
        self,
        model: EnergyModel,
        optimizer: Optimizer | OptimizerFactory | None,
        learning_rate: float,
        l2: float,
    ) -> PlainDescent | TorchDescent:
        """How this rank moves its weights; each adds its share of the L2 pull."""
        if optimizer is None and self.n_ranks > 1:
            optimizer = torch.optim.SGD  # plain SGD has no gradients to sum
        return descent(model, optimizer, learning_rate, l2 / self.n_ranks)

    @contextmanager
    def together(self, run: Run) -> Iterator[None]:
        """A block in which all ranks run as one, from where the first one stands."""
        if self.n_ranks == 1:
            yield
            return
        states = [run.state()]
        dist.broadcast_object_list(states, src=0)
        run.restore(states[0])
        assert isinstance(run.update, TorchDescent)
        summing = run.update.optimizer.register_step_pre_hook(_sum_gradients)
        try:
            yield
        finally:
            summing.remove()
        _check_same(run.model)

    def noise(self, generator: Generator | None, n_updates: int) -> Generator | None:
        """A generator of this rank's own for one update.

        It follows from the shared generator, which stays the same on all ranks and
        draws nothing but the order of the cases: a run can go on from any update
        without a state of each rank.
        """
        if self.n_ranks == 1 or generator is None:
            return generator
        seed = derived_seed(generator) + n_updates * self.n_ranks + self.rank
        return Generator(generator.device).manual_seed(seed)

    def summed(self, mine: Counted) -> Counted:
        """What an update is about on all ranks together."""
        if self.n_ranks == 1:
            return mine
        loss = 0.0 if mine.loss is None else float(mine.loss.sum())
        device = None if mine.loss is None else mine.loss.device
        numbers = torch.tensor(
            [mine.n_cases, mine.weight, loss], dtype=torch.float64, device=device
        )
        dist.all_reduce(numbers)
        return Counted(int(numbers[0]), float(numbers[1]), numbers[2])

    def agreed(
        self, validation: Callable[[EnergyModel], float] | None
    ) -> Callable[[EnergyModel], float] | None:
        """The validation of the first rank for all: none stops before the others."""
        if validation is None or self.n_ranks == 1:
            return validation

        def error_of_first(model: EnergyModel) -> float:
            device = next(model.parameters()).device
            error = torch.zeros((), dtype=torch.float64, device=device)
            if self.first:
                error.fill_(validation(model))
            dist.broadcast(error, src=0)
            return float(error)

        return error_of_first


ALONE = Ranks()


@contextmanager
def joined() -> Iterator[Ranks]:
    """The ranks that torchrun started this script on; one process outside of it.

    Sums go over gloo on CPUs and over nccl on GPUs.

    Examples
    --------
    >>> with joined() as ranks:
    ...     print(ranks)
    Ranks(rank=0, n_ranks=1)
    """
    if not dist.is_torchelastic_launched():
        yield ALONE
        return
    dist.init_process_group()
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size())
        dist.barrier()  # who leaves early cuts off what the others still read
    finally:
        dist.destroy_process_group()


def counted(batch: Batch, contrast: Contrast) -> Counted:
    """What one update is about on this rank; cases without weight do not count."""
    if batch.weight is None:
        return Counted(batch.n_cases, float(batch.n_cases), contrast.loss)
    weight = float(batch.weight.sum())
    tiny = torch.finfo(torch.float32).tiny
    return Counted(batch.n_cases if weight else 0, max(weight, tiny), contrast.loss)


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
