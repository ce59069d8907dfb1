"""The restricted Boltzmann machine: a CRBM that has no inputs."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from crbm.energies import BipartiteEnergy, Dense
from crbm.models.crbm import CRBM
from crbm.units import BERNOULLI, Units


class RBM(CRBM):
    """An RBM: p(v) through hidden units [1]_, Eqs. 1 to 5.

    Parameters
    ----------
    n_visible, n_hidden
        Sizes of v and h.
    generator
        Source of the initial weights.
    visible
        The kind of output; binary unless given.
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
        visible: Units = BERNOULLI,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__(
            0,
            n_visible,
            n_hidden,
            generator,
            visible=visible,
            connect_uv=False,
            connect_uh=False,
            dtype=dtype,
            device=device,
        )

    def condition(
        self, u: Float[Tensor, "batch inputs"] | None = None
    ) -> BipartiteEnergy:
        """p(v) as an energy; there is no input to absorb, so `u` changes nothing."""
        return BipartiteEnergy(
            Dense(self.weight_vh), self.bias_v, self.bias_h, self.visible
        )
