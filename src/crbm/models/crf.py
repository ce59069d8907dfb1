"""A conditional random field with fully connected outputs."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from crbm import checks
from crbm.energies import Energy, PairwiseEnergy
from crbm.energies.pairwise import moment_sums
from crbm.kernels.products import add_product_, affine
from crbm.models.base import EnergyModel, small_normal
from crbm.types import Contrast


class CRF(EnergyModel):
    """p(v | u) with a coupling between every two outputs: the baseline of [1]_.

    F(v, u) = -v (b + u W_uv) - v W_vv v / 2, with W_vv taken as symmetric and zero on
    its diagonal whatever the parameter holds. The two entries of a pair share its
    gradient, so a step moves both alike.

    Parameters
    ----------
    n_inputs, n_visible
        Sizes of u and v.
    generator
        Source of the initial input weights; couplings start at zero.
    dtype, device
        As everywhere in torch.

    Examples
    --------
    >>> model = CRF(n_inputs=4, n_visible=3)
    >>> model.free_energy(torch.ones(5, 3), torch.ones(5, 4)).shape
    torch.Size([5])
    """

    closed_form = True

    def __init__(
        self,
        n_inputs: int,
        n_visible: int,
        generator: Generator | None = None,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        checks.whole_number("n_inputs", n_inputs, at_least=0)
        checks.whole_number("n_visible", n_visible, at_least=1)
        self.n_inputs, self.n_visible = n_inputs, n_visible
        self.weight_uv = small_normal(
            n_inputs, n_visible, generator=generator, dtype=dtype, device=device
        )
        self.weight_vv = nn.Parameter(
            torch.zeros(n_visible, n_visible, dtype=dtype, device=device)
        )
        self.bias_v = nn.Parameter(torch.zeros(n_visible, dtype=dtype, device=device))

    def couplings(self) -> Float[Tensor, "visible visible"]:
        """W_vv, symmetric and zero on its diagonal."""
        symmetric = (self.weight_vv + self.weight_vv.T) / 2
        return symmetric - symmetric.diag().diag()

    def _condition(self, u: Float[Tensor, "batch inputs"] | None) -> PairwiseEnergy:
        """p(v | u) as a pairwise energy whose biases have absorbed u."""
        if u is None:
            raise ValueError("A CRF needs inputs `u`; got None.")
        bias = affine(u, self.weight_uv, self.bias_v)
        return PairwiseEnergy(self.couplings(), bias, has_visible_input=True)

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
        positive, products_positive = moment_sums(contrast.positive)
        negative, products_negative = moment_sums(contrast.negative)
        gap = negative - positive
        into["bias_v"].add_(gap.sum(0), alpha=scale)
        assert u is not None
        add_product_(into["weight_uv"], u, gap, scale)
        products = (products_negative - products_positive).fill_diagonal_(0)
        into["weight_vv"].add_(products, alpha=scale / 2)

    def extra_repr(self) -> str:
        return f"n_inputs={self.n_inputs}, n_visible={self.n_visible}"
