"""The base of every model: a free energy, and the gradient of it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from crbm import checks
from crbm.energies import Energy, FunctionalEnergy
from crbm.types import Contrast, Evaluated, EvaluatedRows, Moments, States

NEEDS_STATES = (
    "{model} needs states for its gradient, but the objective names moments, which "
    "serve only a CRF. Use an objective that names states, e.g. ContrastiveDivergence."
)


class EnergyModel(nn.Module):
    """A model of p(v | u) given by its free energy.

    A subclass sets `n_visible` and defines `free_energy`; gradients then come by
    autograd and Gibbs sampling flips one unit at a time. Models that know better
    override `condition` and `add_gradient`.

    Examples
    --------
    >>> class Independent(EnergyModel):
    ...     n_visible = 2
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = torch.nn.Parameter(torch.zeros(3, 2))
    ...     def free_energy(self, v, u):
    ...         return -(v * (u @ self.weight)).sum(-1)
    >>> Independent().condition(torch.ones(1, 3)).free_energy(torch.ones(1, 2)).item()
    -0.0
    """

    n_visible: int

    def free_energy(
        self, v: Float[Tensor, "batch visible"], u: Float[Tensor, "batch inputs"]
    ) -> Float[Tensor, " batch"]:
        """F(v, u), low where v is likely given u."""
        raise NotImplementedError(
            f"{type(self).__name__} must define `free_energy(v, u)`."
        )

    def condition(self, u: Float[Tensor, "batch inputs"]) -> Energy:
        """The distribution p(v | u) as an energy with u absorbed."""
        return FunctionalEnergy(self.free_energy, u, self.n_visible)

    def absorb(self, u: Float[Tensor, "batch inputs"] | None) -> Energy:
        """`condition` for inputs that were checked before: the training loop's door."""
        return self.condition(u)  # type: ignore[arg-type]

    def add_gradient(
        self,
        u: Float[Tensor, "batch inputs"] | None,
        contrast: Contrast,
        *,
        into: Mapping[str, Tensor],
        scale: float = 1.0,
    ) -> None:
        """Add `scale` times the gradient of a contrast, summed over cases, to `into`.

        `into` holds a tensor per parameter name. With the parameters themselves and a
        negative scale this is a step of plain gradient descent.
        """
        with torch.enable_grad():
            gap = self._average(u, contrast.positive) - self._average(
                u, contrast.negative
            )
            parameters = dict(self.named_parameters())
            slopes = torch.autograd.grad(
                gap, list(parameters.values()), allow_unused=True
            )
        with torch.no_grad():
            for name, slope in zip(parameters, slopes, strict=True):
                if slope is not None:
                    into[name].add_(slope, alpha=scale)

    def gradients(
        self, u: Float[Tensor, "batch inputs"] | None, contrast: Contrast
    ) -> dict[str, Tensor]:
        """The gradient of a contrast, summed over cases, by parameter name."""
        into = {
            name: torch.zeros_like(parameter)
            for name, parameter in self.named_parameters()
        }
        self.add_gradient(u, contrast, into=into)
        return into

    def _average(self, u: Tensor | None, states: States | Moments) -> Tensor:
        """The weighted sum of F over states, differentiable in the parameters."""
        if isinstance(states, Moments):
            raise TypeError(NEEDS_STATES.format(model=type(self).__name__))
        energy = self.absorb(u).expand(states.n_cases)
        free = evaluate(energy, states).free_energy
        return (free if states.weight is None else free * states.weight).sum()

    def _check_inputs(self, u: Tensor, n_inputs: int, like: Tensor) -> None:
        checks.columns("u", u, n_inputs, "input")
        checks.same_kind("u", u, like)
        checks.finite("u", u)

    def _check_outputs(self, v: Tensor, like: Tensor) -> None:
        checks.columns("v", v, self.n_visible, "output")
        checks.same_kind("v", v, like)
        checks.within_unit("v", v)


def evaluate(energy: Energy, states: States) -> Evaluated | EvaluatedRows:
    """F of a phase's states, whichever form they have, and what it says of h."""
    if states.ids is not None:
        return energy.evaluate_rows(states.v, states.ids)
    return (energy if states.v.ndim == 2 else energy.lifted()).evaluate(states.v)


def small_normal(
    *shape: int,
    generator: torch.Generator | None,
    dtype: torch.dtype | None,
    device: torch.device | str | None,
    scale: float = 0.01,
) -> nn.Parameter:
    """Weights to start from: normal with a small standard deviation."""
    weight = torch.empty(*shape, dtype=dtype, device=device)
    return nn.Parameter(weight.normal_(0.0, scale, generator=generator))
