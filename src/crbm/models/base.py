"""The base of every model: a free energy, and the gradient of it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from crbm import checks
from crbm.energies import Energy, FunctionalEnergy
from crbm.types import Cases, Contrast
from crbm.units import BERNOULLI, Units


class EnergyModel(nn.Module):
    """A model of p(v | u) given by its free energy.

    A subclass sets `n_visible` and overrides one method: `condition(u)`, which returns
    an energy with u absorbed, or `free_energy(v, u)`, from which gradients come by
    autograd and Gibbs sampling changes one unit at a time. Gradients with respect to
    the energy's fields are pulled back through whatever computed them.

    Attributes
    ----------
    n_visible
        The number of outputs, counted as numbers: `n_values` per categorical unit.
    visible
        The kind of output; binary unless set.
    closed_form
        Whether `add_gradient` needs no autograd graph of `condition(u)`.

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
    visible: Units = BERNOULLI
    closed_form: bool = False

    def condition(self, u: Float[Tensor, "batch ..."] | None) -> Energy:
        """The distribution p(v | u) as an energy with u absorbed."""
        if u is not None:
            self._check_inputs(u)
        return self._condition(u)

    def _condition(self, u: Float[Tensor, "batch ..."] | None) -> Energy:
        """`condition` after its checks; the models of this package override this."""
        if u is None:
            raise ValueError(f"{type(self).__name__} needs inputs `u`; got None.")
        return FunctionalEnergy(self.free_energy, u, self.n_visible)

    def condition_unchecked(self, u: Float[Tensor, "batch ..."] | None) -> Energy:
        """`condition(u)` for inputs that `check_cases` has accepted.

        The training loop calls it at every update. A subclass that overrides
        `condition` has its own called.
        """
        return self._condition(u) if self._inherits_condition else self.condition(u)

    def free_energy(
        self, v: Float[Tensor, "batch ..."], u: Float[Tensor, "batch ..."] | None = None
    ) -> Float[Tensor, " batch"]:
        """F(v, u), low where v is likely given u."""
        if type(self)._condition is EnergyModel._condition and self._inherits_condition:
            raise NotImplementedError(
                f"{type(self).__name__} must define `free_energy(v, u)` or "
                "`condition(u)`."
            )
        v = self.flatten_outputs(v)
        self._check_outputs(v)
        return self.condition(u).free_energy(v)

    def forward(
        self, v: Float[Tensor, "batch ..."], u: Float[Tensor, "batch ..."] | None = None
    ) -> Float[Tensor, " batch"]:
        """The free energy: `model(v, u)` is `model.free_energy(v, u)`."""
        return self.free_energy(v, u)

    def flatten_outputs(
        self, v: Float[Tensor, "batch ..."]
    ) -> Float[Tensor, "batch visible"]:
        """Outputs as energies take them: one row of numbers per case."""
        return v

    def pack(self) -> None:
        """Prepare for predictions; the weights must not change afterwards.

        Makes copies of weights that are multiplied faster, where the model has them.
        Predictions change by rounding.
        """

    def check_cases(self, cases: Cases) -> None:
        """Refuse training cases that the model cannot learn from."""
        checks.same_length(u=cases.u, v=cases.v, weight=cases.weight)
        if cases.n_cases == 0:
            raise ValueError("Training needs at least one case; got none.")
        v = self.flatten_outputs(cases.v)
        checks.columns("v", v, self.n_visible, "output")
        checks.same_kind("v", v, self._parameter)
        self.visible.check("v", v, missing=True)
        if cases.u is not None:
            self._check_inputs(cases.u)

    def add_gradient(
        self,
        u: Float[Tensor, "batch ..."] | None,
        contrast: Contrast,
        *,
        into: Mapping[str, Tensor],
        scale: float = 1.0,
        energy: Energy | None = None,
    ) -> None:
        """Add `scale` times the gradient of a contrast, summed over cases, to `into`.

        `into` holds a tensor per parameter name. With the parameters themselves and a
        negative scale this is a step of plain gradient descent. `energy` is that of
        `condition(u)`, where it is at hand with its autograd graph.
        """
        if energy is None:
            with torch.enable_grad():
                energy = self.condition(u)
        pairs = [p for p in energy.field_gradients(contrast) if p.field.requires_grad]
        named = {name: p for name, p in self.named_parameters() if p.requires_grad}
        gradients = torch.autograd.grad(
            [pair.field for pair in pairs],
            list(named.values()),
            [pair.gradient for pair in pairs],
            allow_unused=True,
        )
        with torch.no_grad():
            for name, gradient in zip(named, gradients, strict=True):
                if gradient is not None:
                    into[name].add_(gradient, alpha=scale)

    def gradients(
        self, u: Float[Tensor, "batch ..."] | None, contrast: Contrast
    ) -> dict[str, Tensor]:
        """The gradient of a contrast, summed over cases, by parameter name."""
        into = {
            name: torch.zeros_like(parameter)
            for name, parameter in self.named_parameters()
        }
        self.add_gradient(u, contrast, into=into)
        return into

    @property
    def _inherits_condition(self) -> bool:
        return type(self).condition is EnergyModel.condition

    @property
    def _parameter(self) -> Tensor:
        """A parameter, for its dtype and device."""
        return next(self.parameters())

    def _check_inputs(self, u: Tensor) -> None:
        n_inputs = getattr(self, "n_inputs", None)
        if n_inputs:
            checks.columns("u", u, n_inputs, "input")
        parameter = next(self.parameters(), None)
        if parameter is not None:
            checks.same_kind("u", u, parameter)
        checks.finite("u", u)

    def _check_outputs(self, v: Tensor) -> None:
        checks.columns("v", v, self.n_visible, "output")
        checks.same_kind("v", v, self._parameter)
        self.visible.check_mean("v", v)


def small_normal(
    *shape: int,
    generator: Generator | None,
    dtype: torch.dtype | None,
    device: torch.device | str | None,
    scale: float = 0.01,
) -> nn.Parameter:
    """Initial weights: normal with a small standard deviation.

    They are drawn where the generator is, so one seed gives the same weights on every
    device, and in single precision unless a dtype is given, so that torch's default
    dtype does not change them.
    """
    drawn_on = device if generator is None else generator.device
    drawn_as = torch.float32 if dtype is None else dtype
    weight = torch.empty(*shape, dtype=drawn_as, device=drawn_on)
    if not weight.is_meta:  # to be loaded; there torch would import its compiler
        weight.normal_(0.0, scale, generator=generator)
    return nn.Parameter(weight.to(device, dtype or torch.get_default_dtype()))
