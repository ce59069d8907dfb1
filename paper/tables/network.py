"""A perceptron with one hidden layer, as a model like any other."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from crbm.energies import BipartiteEnergy, Dense
from crbm.models import EnergyModel


class Network(EnergyModel):
    """Outputs that are independent given a hidden layer computed from the input.

    Its energy is linear in v, with the network's log-odds as biases; training by
    `ExactLikelihood` is the usual one, by the cross-entropy of each output.

    Parameters
    ----------
    n_inputs, n_visible, n_hidden
        Sizes of input, output and hidden layer.
    generator
        Where the initial weights are drawn from.

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
        self.weight_uh = _scaled(n_inputs, n_hidden, generator)
        self.weight_hv = _scaled(n_hidden, n_visible, generator)
        self.bias_h = nn.Parameter(torch.zeros(n_hidden))
        self.bias_v = nn.Parameter(torch.zeros(n_visible))

    def condition(self, u: Float[Tensor, "batch inputs"] | None) -> BipartiteEnergy:
        """Independent outputs whose log-odds the network computes."""
        assert u is not None
        h = torch.relu(torch.addmm(self.bias_h, u, self.weight_uh))
        logits = torch.addmm(self.bias_v, h, self.weight_hv)
        empty = u.new_zeros(self.n_visible, 0)
        return BipartiteEnergy(Dense(empty), logits, empty[0])


def _scaled(n_in: int, n_out: int, generator: Generator | None) -> nn.Parameter:
    """Weights that keep the size of a signal through rectified units."""
    weight = torch.empty(n_in, n_out)
    return nn.Parameter(weight.normal_(0.0, (2 / n_in) ** 0.5, generator=generator))
