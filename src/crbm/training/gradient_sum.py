"""Sum the gradients of all ranks."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import distributed as dist, nn

from crbm.training.one_machine import OneMachine


class GradientSum:
    """Sums the gradients of parameters over all ranks; every rank must make one.

    The gradients become views of one block of memory, which is summed as a whole: small
    messages cost more than their bytes. Ranks on one machine read each other's blocks
    in memory that they share, others send messages over gloo or nccl.

    Parameters
    ----------
    parameters
        Their gradients are replaced by zeros, which must be changed in place.
    machine
        The ranks, if they are on one machine.
    """

    def __init__(
        self, parameters: Iterable[nn.Parameter], machine: OneMachine | None
    ) -> None:
        self.blocks = [_Block(kind, machine) for kind in _by_kind(parameters)]

    def __call__(self) -> None:
        """Replace the gradients by their sums; the same bits on all ranks."""
        for block in self.blocks:
            block.sum()


class _Block:
    """The gradients of parameters of one dtype, one after the other in memory."""

    def __init__(
        self, parameters: list[nn.Parameter], machine: OneMachine | None
    ) -> None:
        sizes = [parameter.numel() for parameter in parameters]
        self.gradients = parameters[0].detach().new_zeros(sum(sizes))
        parts = self.gradients.split(sizes)
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)
        self.machine, self.slots, self._turn = machine, None, 0
        if machine is not None and self.gradients.device.type == "cpu":
            n_ranks = dist.get_world_size()
            memory = machine.memory(self.gradients, 2 * n_ranks)
            self.slots = None if memory is None else memory.view(2, n_ranks, -1)

    def sum(self) -> None:
        if self.machine is None or self.slots is None:
            dist.all_reduce(self.gradients)
            return
        # There are two slots per rank, used in turn: a rank fills the next one while
        # another still reads the last one.
        slots = self.slots[self._turn]
        self._turn = 1 - self._turn
        slots[dist.get_rank()].copy_(self.gradients)
        self.machine.sum(torch.zeros(1))  # all ranks have filled theirs
        torch.add(slots[0], slots[1], out=self.gradients)
        for other in slots[2:]:
            self.gradients.add_(other)


def _by_kind(parameters: Iterable[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Parameters grouped by dtype and device, in the same order on all ranks."""
    groups: dict[tuple[torch.dtype, torch.device], list[nn.Parameter]] = {}
    for parameter in parameters:
        groups.setdefault((parameter.dtype, parameter.device), []).append(parameter)
    return list(groups.values())
