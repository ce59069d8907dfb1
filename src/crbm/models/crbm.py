"""The conditional restricted Boltzmann machine."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from crbm import checks
from crbm.energies import BipartiteEnergy
from crbm.kernels.products import add_product_, affine
from crbm.models.base import NEEDS_STATES, EnergyModel, evaluate, small_normal
from crbm.models.statistics import BipartitePhase, bipartite_phase, table_phase
from crbm.types import Contrast, EvaluatedRows, Moments, States


class CRBM(EnergyModel):
    """A conditional RBM: p(v | u) through hidden units [1]_, Eqs. 8 to 11.

    Parameters
    ----------
    n_inputs, n_visible, n_hidden
        Sizes of u, v and h. Without hidden units this is logistic regression.
    generator
        Where the initial weights are drawn from.
    connect_uv, connect_uh
        Whether the input biases the outputs, and the hidden units.
    init_scale
        Standard deviation of the initial couplings of outputs and hidden units. Where
        whole label sets count, 0.3 to 1 lets hidden units specialise early.
    dtype, device
        As everywhere in torch.

    References
    ----------
    .. [1] V. Mnih, H. Larochelle and G. E. Hinton, "Conditional restricted Boltzmann
       machines for structured output prediction", UAI 2011.
    .. [2] G. E. Hinton, "A practical guide to training restricted Boltzmann machines",
       University of Toronto, UTML TR 2010-003.

    Examples
    --------
    >>> model = CRBM(n_inputs=4, n_visible=3, n_hidden=2)
    >>> model.free_energy(torch.zeros(5, 3), torch.ones(5, 4)).shape
    torch.Size([5])
    """

    weight_uv: nn.Parameter | None
    weight_uh: nn.Parameter | None

    def __init__(
        self,
        n_inputs: int,
        n_visible: int,
        n_hidden: int,
        generator: Generator | None = None,
        *,
        connect_uv: bool = True,
        connect_uh: bool = True,
        init_scale: float = 0.01,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        checks.whole_number("n_inputs", n_inputs, at_least=0)
        checks.whole_number("n_visible", n_visible, at_least=1)
        checks.whole_number("n_hidden", n_hidden, at_least=0)
        checks.not_negative("init_scale", init_scale)
        self.n_inputs, self.n_visible, self.n_hidden = n_inputs, n_visible, n_hidden

        def weights(*shape: int, scale: float = 0.01) -> nn.Parameter:
            return small_normal(
                *shape, generator=generator, dtype=dtype, device=device, scale=scale
            )

        def zeros(size: int) -> nn.Parameter:
            return nn.Parameter(torch.zeros(size, dtype=dtype, device=device))

        self.weight_vh = weights(n_visible, n_hidden, scale=init_scale)
        self.weight_uv = weights(n_inputs, n_visible) if connect_uv else None
        self.weight_uh = weights(n_inputs, n_hidden) if connect_uh else None
        self.bias_v = zeros(n_visible)
        self.bias_h = zeros(n_hidden)

    @torch.no_grad()
    def start_biases(
        self,
        v: Float[Tensor, "cases visible"],
        *,
        hidden: float = 0.0,
        weight: Float[Tensor, " cases"] | None = None,
    ) -> None:
        """Set the biases to where training starts well, from the outputs to learn.

        Each output starts at the log-odds of being on [2]_, Section 8, where one that
        always or never is counts as if it had been otherwise once. Every hidden unit
        starts at the log-odds `hidden`: mostly off, at -2 to -4, they leave to
        the inputs what these can tell, and specialise on the rest.

        Parameters
        ----------
        v
            Outputs of all cases; NaN marks a label that is not known.
        hidden
            Log-odds of every hidden unit.
        weight
            How much each case counts; None counts all alike.

        Examples
        --------
        >>> model = CRBM(n_inputs=4, n_visible=2, n_hidden=3)
        >>> model.start_biases(torch.tensor([[0.0, 1.0], [0.0, 0.0]]), hidden=-2.0)
        >>> model.bias_v.data, model.bias_h.data
        (tensor([-1.0986,  0.0000]), tensor([-2., -2., -2.]))
        """
        known, on = ~v.isnan(), v.nan_to_num()
        self._check_outputs(on, self.bias_v)
        counts = known if weight is None else known * weight[:, None]
        n_on, n_known = (on * counts).sum(0), counts.sum(0)
        self.bias_v.copy_(torch.log((n_on + 1) / (n_known - n_on + 1)))
        self.bias_h.fill_(hidden)

    def condition(self, u: Float[Tensor, "batch inputs"]) -> BipartiteEnergy:
        """p(v | u) as an RBM whose biases have absorbed u."""
        self._check_inputs(u, self.n_inputs, self.bias_v)
        return self.absorb(u)

    def absorb(self, u: Float[Tensor, "batch inputs"] | None) -> BipartiteEnergy:
        if u is None:
            raise ValueError("A CRBM needs inputs `u`; got None. Without them use RBM.")
        return BipartiteEnergy(
            self.weight_vh,
            _shifted(self.bias_v, u, self.weight_uv),
            _shifted(self.bias_h, u, self.weight_uh),
            driven=self.weight_uv is not None,
        )

    def free_energy(
        self, v: Float[Tensor, "batch visible"], u: Float[Tensor, "batch inputs"]
    ) -> Float[Tensor, " batch"]:
        """F(v, u) [1]_, Eq. 10."""
        self._check_outputs(v, self.bias_v)
        return self.condition(u).free_energy(v)

    @torch.no_grad()
    def add_gradient(
        self,
        u: Float[Tensor, "batch inputs"] | None,
        contrast: Contrast,
        *,
        into: Mapping[str, Tensor],
        scale: float = 1.0,
    ) -> None:
        # dF/dW_vh = -v h, dF/dW_uv = -u v and so on, with h = p(h = 1 | v):
        # the closed form of what autograd gives, several times faster.
        positive = self._phase(u, contrast.positive)
        negative = self._phase(u, contrast.negative)
        for sign, phase in ((-1, positive), (1, negative)):
            add_product_(into["weight_vh"], phase.v, phase.partner, sign * scale)
        for side, more, less in (
            ("v", negative.mean_v, positive.mean_v),
            ("h", negative.mean_h, positive.mean_h),
        ):
            into[f"bias_{side}"].add_(more.sum(0) - less.sum(0), alpha=scale)
            if f"weight_u{side}" in into and u is not None:
                add_product_(into[f"weight_u{side}"], u, more - less, scale)

    def _phase(self, u: Tensor | None, states: States | Moments) -> BipartitePhase:
        if isinstance(states, Moments):
            raise TypeError(NEEDS_STATES.format(model=type(self).__name__))
        if states.hidden_means is None and states.row_logits is None:
            states = _evaluated(self.absorb(u), states)
        if states.row_logits is not None:
            return table_phase(states, states.row_logits)
        assert states.hidden_means is not None
        return bipartite_phase(states, states.hidden_means)


def _evaluated(energy: BipartiteEnergy, states: States) -> States:
    """The states with what they say of the hidden units."""
    found = evaluate(energy.expand(states.n_cases), states)
    if isinstance(found, EvaluatedRows):
        return states._replace(row_logits=found.logits)
    return states._replace(hidden_means=found.hidden_means)


def _shifted(bias: Tensor, u: Tensor, weight: Tensor | None) -> Tensor:
    """The bias of each case: the same for all where the input is not connected."""
    return bias.expand(len(u), -1) if weight is None else affine(u, weight, bias)
