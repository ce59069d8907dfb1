"""A perceptron with one hidden layer as an energy model, for comparison."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from crbm.energies import BipartiteEnergy, Dense
from crbm.models import EnergyModel


class Network(EnergyModel):
    """Independent outputs whose log-odds a network with one hidden layer computes.

    The energy is linear in v, so that `ExactLikelihood` is the cross-entropy.

    Parameters
    ----------
    n_inputs, n_visible, n_hidden
        Sizes of the input, output and hidden layers.
    generator
        Source of the random initial weights.

    Examples
    --------
    >>> network = Network(4, 3, 2, Generator().manual_seed(0))
    >>> network.condition(torch.ones(5, 4)).visible_bias.shape
    torch.Size([5, 3])
    """

    def __init__(
        self,
        n_inputs: int,
        n_visible: int,
        n_hidden: int,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.n_inputs, self.n_visible = n_inputs, n_visible
        self.weight_uh = _random_weights(n_inputs, n_hidden, generator)
        self.weight_hv = _random_weights(n_hidden, n_visible, generator)
        self.bias_h = nn.Parameter(torch.zeros(n_hidden))
        self.bias_v = nn.Parameter(torch.zeros(n_visible))

    def condition(self, u: Float[Tensor, "batch inputs"] | None) -> BipartiteEnergy:
        """The energy of independent outputs with the network's log-odds."""
        assert u is not None
        h = torch.relu(torch.addmm(self.bias_h, u, self.weight_uh))
        logits = torch.addmm(self.bias_v, h, self.weight_hv)
        empty = u.new_zeros(self.n_visible, 0)
        return BipartiteEnergy(Dense(empty), logits, empty[0])


def _random_weights(n_in: int, n_out: int, generator: Generator | None) -> nn.Parameter:
    """Weights with He initialisation, for rectified linear units."""
    weight = torch.empty(n_in, n_out)
    return nn.Parameter(weight.normal_(0.0, (2 / n_in) ** 0.5, generator=generator))
