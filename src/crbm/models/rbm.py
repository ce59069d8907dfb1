"""The restricted Boltzmann machine: a CRBM that has no inputs."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from crbm.energies import BipartiteEnergy
from crbm.models.crbm import CRBM


class RBM(CRBM):
    """An RBM: p(v) through hidden units [1]_, Eqs. 1 to 5.

    Parameters
    ----------
    n_visible, n_hidden
        Sizes of v and h.
    generator
        Where the initial weights are drawn from.
    dtype, device
        As everywhere in torch.

    Examples
    --------
    >>> RBM(n_visible=3, n_hidden=2).free_energy(torch.zeros(5, 3)).shape
    torch.Size([5])
    """

    def __init__(
        self,
        n_visible: int,
        n_hidden: int,
        generator: Generator | None = None,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__(
            0,
            n_visible,
            n_hidden,
            generator,
            connect_uv=False,
            connect_uh=False,
            dtype=dtype,
            device=device,
        )

    def condition(
        self, u: Float[Tensor, "batch inputs"] | None = None
    ) -> BipartiteEnergy:
        """p(v) as an energy; there is no input to absorb, so `u` changes nothing."""
        return self.absorb(u)

    def absorb(self, u: Float[Tensor, "batch inputs"] | None) -> BipartiteEnergy:
        return BipartiteEnergy(self.weight_vh, self.bias_v, self.bias_h)

    def free_energy(
        self,
        v: Float[Tensor, "batch visible"],
        u: Float[Tensor, "batch inputs"] | None = None,
    ) -> Float[Tensor, " batch"]:
        """F(v) [1]_, Eq. 5."""
        self._check_outputs(v, self.bias_v)
        return self.condition(u).free_energy(v)
