"""A CRBM whose biases are computed by a neural network."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from crbm import checks
from crbm.energies import BipartiteEnergy, Dense
from crbm.models.base import EnergyModel, small_normal
from crbm.units import BERNOULLI, Units


class NetworkCRBM(EnergyModel):
    """A conditional RBM with learned features of u.

    The network computes the biases of the outputs and of the hidden units from u, and
    is trained end to end: gradients of the free energy with respect to the biases have
    a closed form, and autograd pulls them back through the network.

    Parameters
    ----------
    network
        Any module from a batch of inputs to (batch, n_visible + n_hidden) biases.
        Inputs may have any shape that it takes, e.g. images.
    n_visible, n_hidden
        Sizes of v and h.
    generator
        Source of the initial couplings; the network keeps its own weights.
    visible
        The kind of output; binary unless given. `n_visible` counts numbers.
    init_scale
        Standard deviation of the initial couplings.

    Examples
    --------
    >>> network = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3 + 2))
    >>> model = NetworkCRBM(network, n_visible=3, n_hidden=2)
    >>> model.free_energy(torch.zeros(5, 3), torch.ones(5, 4)).shape
    torch.Size([5])
    """

    def __init__(
        self,
        network: nn.Module,
        n_visible: int,
        n_hidden: int,
        generator: Generator | None = None,
        *,
        visible: Units = BERNOULLI,
        init_scale: float = 0.01,
    ) -> None:
        super().__init__()
        checks.whole_number("n_visible", n_visible, at_least=1)
        checks.whole_number("n_hidden", n_hidden, at_least=0)
        checks.not_negative("init_scale", init_scale)
        visible.check_size("n_visible", n_visible)
        like = next(network.parameters(), torch.empty(0))
        self.n_visible, self.n_hidden, self.visible = n_visible, n_hidden, visible
        self.weight_vh = small_normal(
            n_visible,
            n_hidden,
            generator=generator,
            dtype=like.dtype,
            device=like.device,
            scale=init_scale,
        )
        self.network = network

    def _condition(self, u: Float[Tensor, "batch ..."] | None) -> BipartiteEnergy:
        """p(v | u) as an RBM whose biases the network computes."""
        if u is None:
            raise ValueError("A NetworkCRBM needs inputs `u`; got None.")
        biases = self.network(u)
        expected = (len(u), self.n_visible + self.n_hidden)
        if tuple(biases.shape) != expected:
            raise ValueError(
                "The network must return one bias per output and hidden unit, shape "
                f"{expected}; got {tuple(biases.shape)}. Change its last layer."
            )
        visible, hidden = biases.split((self.n_visible, self.n_hidden), -1)
        return BipartiteEnergy(
            Dense(self.weight_vh),
            visible,
            hidden,
            self.visible,
            has_visible_input=True,
        )

    def extra_repr(self) -> str:
        kind = "" if self.visible == BERNOULLI else f", visible={self.visible}"
        return f"n_visible={self.n_visible}, n_hidden={self.n_hidden}{kind}"
