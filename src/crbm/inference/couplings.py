"""Which outputs attract and which exclude each other: log odds ratios of pairs."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from crbm.energies import Energy
from crbm.units import BERNOULLI


@torch.no_grad()
def run(
    energy: Energy, v: Float[Tensor, "batch visible"]
) -> Float[Tensor, "visible visible"]:
    """How much each output raises the log-odds of each other one.

    For outputs i and k and a state v of all the others, this is the log odds ratio

        log p(1, 1 | v) p(0, 0 | v) / (p(1, 0 | v) p(0, 1 | v))
            = F(1, 0, v) + F(0, 1, v) - F(1, 1, v) - F(0, 0, v),

    averaged over the states given: positive where the two attract, negative where they
    exclude each other, symmetric and zero on the diagonal. For a CRF it is W_vv
    itself, whatever the states; in a CRBM hidden units make it depend on them.

    Parameters
    ----------
    energy
        Of one case, or of as many as there are states.
    v
        The states at which to ask; v_i and v_k themselves do not matter.

    Examples
    --------
    >>> import crbm
    >>> model = crbm.CRF(n_inputs=1, n_visible=2)
    >>> _ = model.weight_vv.data.copy_(torch.tensor([[0.0, 1.5], [1.5, 0.0]]))
    >>> run(model.condition(torch.zeros(1, 1)), torch.zeros(1, 2))
    tensor([[0.0000, 1.5000],
            [1.5000, 0.0000]])
    """
    _refuse_values(energy)
    energy = energy.with_state_axis()
    ratios = [_with(energy, v, unit).mean(0) for unit in range(v.shape[-1])]
    return torch.stack(ratios).fill_diagonal_(0)


def _refuse_values(energy: Energy) -> None:
    if energy.visible != BERNOULLI:
        raise TypeError(
            "Log odds ratios are defined for pairs of binary outputs; this energy has "
            f"{energy.visible!r}."
        )


def _with(energy: Energy, v: Tensor, unit: int) -> Float[Tensor, "batch visible"]:
    """The log odds ratios of one output with every other."""
    off, on = v.clone(), v.clone()
    off[:, unit], on[:, unit] = 0, 1
    return _flips(energy, on) - _flips(energy, off)


def _flips(energy: Energy, v: Tensor) -> Float[Tensor, "batch visible"]:
    """F(v_i = 0) - F(v_i = 1) for each output i, the others fixed."""
    each = torch.eye(v.shape[-1], dtype=torch.bool, device=v.device)
    off = v[:, None].masked_fill(each, 0)
    on = v[:, None].masked_fill(each, 1)
    return energy.free_energy(off) - energy.free_energy(on)
