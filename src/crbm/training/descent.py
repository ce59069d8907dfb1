"""How a contrast moves the weights: plain SGD, or any optimiser of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.optim import Optimizer

from crbm.energies import Energy
from crbm.models import EnergyModel
from crbm.types import Contrast

OptimizerFactory = Callable[..., Optimizer]
UNSUITED = (torch.optim.LBFGS, torch.optim.SparseAdam)


@runtime_checkable
class Descent(Protocol):
    """One update of the weights."""

    def __call__(
        self,
        u: Tensor | None,
        contrast: Contrast,
        share: float,
        energy: Energy | None = None,
    ) -> None:
        """Move the weights against `share` times the gradient of the contrast."""
        ...

    def state(self) -> dict[str, Any]:
        """What must be kept to go on later."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a kept state."""
        ...


class PlainDescent:
    """SGD without momentum, as in the paper: products go straight into the weights.

    Skipping the gradient's own memory saves a pass over all weights per update.
    """

    def __init__(self, model: EnergyModel, learning_rate: float, l2: float) -> None:
        self.model, self.learning_rate, self.l2 = model, learning_rate, l2
        self.into = {name: p.detach() for name, p in model.named_parameters()}

    def __call__(
        self,
        u: Tensor | None,
        contrast: Contrast,
        share: float,
        energy: Energy | None = None,
    ) -> None:
        if self.l2:
            for name, weight in self.into.items():
                if _decays(name):
                    weight.mul_(1 - self.learning_rate * self.l2)
        scale = -self.learning_rate * share
        self.model.add_gradient(u, contrast, into=self.into, scale=scale, energy=energy)

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


class TorchDescent:
    """Gradients handed to an optimiser of torch.optim."""

    def __init__(self, model: EnergyModel, optimizer: Optimizer, l2: float) -> None:
        self.model, self.optimizer, self.l2 = model, optimizer, l2
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)

    def __call__(
        self,
        u: Tensor | None,
        contrast: Contrast,
        share: float,
        energy: Energy | None = None,
    ) -> None:
        into = {}
        for name, parameter in self.model.named_parameters():
            gradient = parameter.grad
            assert gradient is not None
            gradient.zero_()
            if self.l2 and _decays(name):
                gradient.add_(parameter.detach(), alpha=self.l2)
            into[name] = gradient
        self.model.add_gradient(u, contrast, into=into, scale=share, energy=energy)
        self.optimizer.step()

    def state(self) -> dict[str, Any]:
        return self.optimizer.state_dict()

    def restore(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state)


def descent(
    model: EnergyModel,
    optimizer: Optimizer | OptimizerFactory | None,
    learning_rate: float,
    l2: float,
) -> PlainDescent | TorchDescent:
    """The descent that an optimiser, a class of them or None stands for."""
    if optimizer is None:
        return PlainDescent(model, learning_rate, l2)
    if not isinstance(optimizer, Optimizer):
        optimizer = optimizer(model.parameters(), lr=learning_rate)
    if isinstance(optimizer, UNSUITED):
        raise ValueError(
            f"{type(optimizer).__name__} cannot take steps along given, dense "
            "gradients. Use another optimiser, e.g. torch.optim.Adam."
        )
    return TorchDescent(model, optimizer, l2)


def _decays(name: str) -> bool:
    """L2 shrinks weights, not biases, also those of nested modules."""
    return not name.rpartition(".")[2].startswith("bias")
