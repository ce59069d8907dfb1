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
class Update(Protocol):
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

    def scale_rate(self, factor: float) -> None:
        """Use `factor` times the initial learning rate from now on."""
        ...

    def state(self) -> dict[str, Any]:
        """What a checkpoint must keep."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a stored state."""
        ...


class PlainUpdate:
    """SGD without momentum, as in the paper: products go straight into the weights.

    Skipping the gradient's own memory saves a pass over all weights per update.
    """

    def __init__(self, model: EnergyModel, learning_rate: float, l2: float) -> None:
        self.model, self.l2 = model, l2
        self.initial_rate = self.learning_rate = learning_rate
        self.into = {name: p.detach() for name, p in model.named_parameters()}

    def __call__(
        self,
        u: Tensor | None,
        contrast: Contrast,
        share: float,
        energy: Energy | None = None,
    ) -> None:
        scale = -self.learning_rate * share
        if self.l2 and not self.model.closed_form:
            # autograd needs the weights unchanged until it has run
            step = {name: torch.zeros_like(w) for name, w in self.into.items()}
            self.model.add_gradient(u, contrast, into=step, scale=scale, energy=energy)
            self._decay()
            for name, weight in self.into.items():
                weight.add_(step[name])
            return
        self._decay()
        self.model.add_gradient(u, contrast, into=self.into, scale=scale, energy=energy)

    def _decay(self) -> None:
        if self.l2:
            for name, weight in self.into.items():
                if _decays(name):
                    weight.mul_(1 - self.learning_rate * self.l2)

    def scale_rate(self, factor: float) -> None:
        self.learning_rate = factor * self.initial_rate

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


class TorchUpdate:
    """Gradients handed to an optimiser of torch.optim."""

    def __init__(self, model: EnergyModel, optimizer: Optimizer, l2: float) -> None:
        self.model, self.optimizer, self.l2 = model, optimizer, l2
        self.initial_rates = [group["lr"] for group in optimizer.param_groups]
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

    def scale_rate(self, factor: float) -> None:
        groups = zip(self.optimizer.param_groups, self.initial_rates, strict=True)
        for group, rate in groups:
            group["lr"] = factor * rate

    def state(self) -> dict[str, Any]:
        return self.optimizer.state_dict()

    def restore(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state)


def make_update(
    model: EnergyModel,
    optimizer: Optimizer | OptimizerFactory | None,
    learning_rate: float,
    l2: float,
) -> PlainUpdate | TorchUpdate:
    """The update by an optimiser, by a class of optimisers, or by plain SGD."""
    if optimizer is None:
        return PlainUpdate(model, learning_rate, l2)
    if not isinstance(optimizer, Optimizer):
        optimizer = optimizer(model.parameters(), lr=learning_rate)
    if isinstance(optimizer, UNSUITED):
        raise ValueError(
            f"{type(optimizer).__name__} cannot take steps along given, dense "
            "gradients. Use another optimiser, e.g. torch.optim.Adam."
        )
    return TorchUpdate(model, optimizer, l2)


def _decays(name: str) -> bool:
    """L2 shrinks weights, not biases, also those of nested modules."""
    return not name.rpartition(".")[2].startswith("bias")
