"""The conditional restricted Boltzmann machine."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from crbm import checks
from crbm.energies import BipartiteEnergy, Dense, Energy, pack_dense
from crbm.kernels.products import add_product_, affine
from crbm.models.base import EnergyModel, small_normal
from crbm.types import Contrast
from crbm.units import BERNOULLI, Units


class CRBM(EnergyModel):
    """A conditional RBM: p(v | u) through hidden units [1]_, Eqs. 8 to 11.

    Parameters
    ----------
    n_inputs, n_visible, n_hidden
        Sizes of u, v and h. Without hidden units this is logistic regression, or
        linear regression if the outputs are Gaussian.
    generator
        Source of the initial weights.
    visible
        The kind of output. `n_visible` counts numbers, so four outputs with three
        values each are `n_visible=12, visible=Categorical(3)`.
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
    closed_form = True
    _packed: Dense | None = None  # what `pack` made of `weight_vh`

    def __init__(
        self,
        n_inputs: int,
        n_visible: int,
        n_hidden: int,
        generator: Generator | None = None,
        *,
        visible: Units = BERNOULLI,
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
        visible.check_size("n_visible", n_visible)
        self.n_inputs, self.n_visible, self.n_hidden = n_inputs, n_visible, n_hidden
        self.visible = visible

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
        """Initialise the biases from the outputs to learn.

        The bias of each output is set to its base rate, for binary outputs the log-odds
        of being on [2]_, Section 8, with add-one smoothing, so that constant outputs
        stay finite. All hidden units start at the bias `hidden`: at -2 to -4 they are
        mostly off, the inputs explain what they can, and hidden units specialise on
        the rest.

        Parameters
        ----------
        v
            Outputs of all cases; NaN marks an output that is not known.
        hidden
            Bias of every hidden unit.
        weight
            How much each case counts; None counts all alike.

        Examples
        --------
        >>> model = CRBM(n_inputs=4, n_visible=2, n_hidden=3)
        >>> model.start_biases(torch.tensor([[0.0, 1.0], [0.0, 0.0]]), hidden=-2.0)
        >>> model.bias_v.data, model.bias_h.data
        (tensor([-1.0986,  0.0000]), tensor([-2., -2., -2.]))
        """
        checks.columns("v", v, self.n_visible, "output")
        checks.same_kind("v", v, self.bias_v)
        self.visible.check("v", v, missing=True)
        counts = (~v.isnan()).to(v)
        if weight is not None:
            counts = counts * weight[:, None]
        total = (v.nan_to_num() * counts).sum(0)
        self.bias_v.copy_(self.visible.starting_field(total, counts.sum(0)))
        self.bias_h.fill_(hidden)

    def _condition(self, u: Float[Tensor, "batch inputs"] | None) -> BipartiteEnergy:
        """p(v | u) as an RBM whose biases have absorbed u."""
        if u is None:
            raise ValueError("A CRBM needs inputs `u`; got None. Without them use RBM.")
        return BipartiteEnergy(
            Dense(self.weight_vh) if self._packed is None else self._packed,
            _conditioned_bias(self.bias_v, u, self.weight_uv),
            _conditioned_bias(self.bias_h, u, self.weight_uh),
            self.visible,
            has_visible_input=self.weight_uv is not None,
        )

    def pack(self) -> None:
        self._packed = pack_dense(self.weight_vh)

    @torch.no_grad()
    def add_gradient(
        self,
        u: Float[Tensor, "batch inputs"] | None,
        contrast: Contrast,
        *,
        into: Mapping[str, Tensor],
        scale: float = 1.0,
        energy: Energy | None = None,
    ) -> None:
        # dF/dW_vh = -v h, dF/dW_uv = -u v and so on, with h its mean given v: the same
        # as pulling the energy's gradients back, but straight into the weights.
        if energy is None:
            energy = self.condition(u)
        assert isinstance(energy, BipartiteEnergy)
        positive, negative = (
            energy.phase(contrast.positive),
            energy.phase(contrast.negative),
        )
        for sign, phase in ((-1, positive), (1, negative)):
            add_product_(
                into["weight_vh"],
                phase.v,
                phase.weighted_h,
                sign * scale,
                # a table of candidates has another number of rows in each batch
                shapes_recur=len(phase.v) == len(phase.mean_v),
            )
        for side, more, less in (
            ("v", negative.mean_v, positive.mean_v),
            ("h", negative.mean_h, positive.mean_h),
        ):
            into[f"bias_{side}"].add_(more.sum(0) - less.sum(0), alpha=scale)
            if f"weight_u{side}" in into and u is not None:
                add_product_(into[f"weight_u{side}"], u, more - less, scale)

    def extra_repr(self) -> str:
        sizes = [f"n_visible={self.n_visible}", f"n_hidden={self.n_hidden}"]
        if self.n_inputs:
            sizes.insert(0, f"n_inputs={self.n_inputs}")
        if self.visible != BERNOULLI:
            sizes.append(f"visible={self.visible}")
        return ", ".join(sizes)


def _conditioned_bias(bias: Tensor, u: Tensor, weight: Tensor | None) -> Tensor:
    """The bias of each case: the same for all where the input is not connected."""
    return bias.expand(len(u), -1) if weight is None else affine(u, weight, bias)
