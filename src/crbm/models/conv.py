"""A CRBM for images of any size: weights shared over positions."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.functional import conv2d

from crbm import checks
from crbm.energies import BipartiteEnergy, Conv2d
from crbm.models.base import EnergyModel, small_normal
from crbm.types import Cases
from crbm.units import BERNOULLI, Units

NEEDS_IMAGES = "A ConvCRBM needs images `u`; got None."


class ConvCRBM(EnergyModel):
    """A conditional RBM over images with convolutional weights.

    The outputs are an image as large as the input, with one binary or real number, or
    one categorical unit, per pixel; the hidden units are maps of the same size. No size
    is part of the model, so the same weights serve images of any height and width (all
    images of one batch have one size).

    Parameters
    ----------
    n_input_channels, n_hidden_channels
        Channels of u and maps of hidden units.
    kernel_size
        Side of the square window of weights; odd.
    generator
        Source of the initial weights.
    visible
        The kind of output of each pixel. With `Categorical(K)` outputs are one-hot
        images of shape (batch, K, height, width), otherwise (batch, height, width).
    network
        Any module from u to biases of shape (batch, K + n_hidden_channels, height,
        width), K being 1 unless outputs are categorical; a convolution with the same
        window unless given. It is trained end to end.
    init_scale
        Standard deviation of the initial couplings.

    Examples
    --------
    >>> model = ConvCRBM(n_input_channels=3, n_hidden_channels=4, kernel_size=3)
    >>> u, v = torch.zeros(2, 3, 8, 10), torch.zeros(2, 8, 10)
    >>> model.free_energy(v, u).shape
    torch.Size([2])
    """

    weight_u: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(
        self,
        n_input_channels: int,
        n_hidden_channels: int,
        kernel_size: int = 7,
        generator: Generator | None = None,
        *,
        visible: Units = BERNOULLI,
        network: nn.Module | None = None,
        init_scale: float = 0.01,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        checks.whole_number("n_input_channels", n_input_channels, at_least=1)
        checks.whole_number("n_hidden_channels", n_hidden_channels, at_least=1)
        checks.whole_number("kernel_size", kernel_size, at_least=1)
        checks.not_negative("init_scale", init_scale)
        if kernel_size % 2 == 0:
            raise ValueError(
                f"`kernel_size` must be odd, so that the window has a centre; got "
                f"{kernel_size}."
            )
        self.n_input_channels = n_input_channels
        self.n_hidden_channels = n_hidden_channels
        self.kernel_size, self.visible, self.network = kernel_size, visible, network
        n_maps = visible.width + n_hidden_channels

        def window(n_out: int, n_in: int, scale: float = 0.01) -> nn.Parameter:
            return small_normal(
                n_out,
                n_in,
                kernel_size,
                kernel_size,
                generator=generator,
                dtype=dtype,
                device=device,
                scale=scale,
            )

        self.weight_vh = window(n_hidden_channels, visible.width, init_scale)
        self.weight_u = self.bias = None
        if network is None:
            self.weight_u = window(n_maps, n_input_channels)
            self.bias = nn.Parameter(torch.zeros(n_maps, dtype=dtype, device=device))

    def _condition(
        self, u: Float[Tensor, "batch channels height width"] | None
    ) -> BipartiteEnergy:
        """p(v | u) for images of the size of u."""
        if u is None:
            raise ValueError(NEEDS_IMAGES)
        maps = self._bias_maps(u).permute(0, 2, 3, 1)
        visible, hidden = maps.split((self.visible.width, self.n_hidden_channels), -1)
        return BipartiteEnergy(
            Conv2d(self.weight_vh, (u.shape[-2], u.shape[-1])),
            visible.flatten(1),
            hidden.flatten(1),
            self.visible,
            has_visible_input=True,
        )

    def _bias_maps(self, u: Tensor) -> Tensor:
        if self.network is None:
            assert self.weight_u is not None
            return conv2d(u, self.weight_u, self.bias, padding=self.kernel_size // 2)
        maps = self.network(u)
        n_maps = self.visible.width + self.n_hidden_channels
        expected = (len(u), n_maps, *u.shape[-2:])
        if tuple(maps.shape) != expected:
            raise ValueError(
                "The network must return one map per output and hidden channel, shape "
                f"{expected}; got {tuple(maps.shape)}."
            )
        return maps

    def flatten_outputs(
        self, v: Float[Tensor, "batch ..."]
    ) -> Float[Tensor, "batch visible"]:
        """Images as rows of numbers, the numbers of a pixel next to each other."""
        if v.ndim == 2:
            return v
        return v.flatten(1) if v.ndim == 3 else v.permute(0, 2, 3, 1).flatten(1)

    def unflatten_outputs(
        self, v: Float[Tensor, "batch visible"], size: tuple[int, int]
    ) -> Float[Tensor, "batch ..."]:
        """The images that `flatten_outputs` made rows of."""
        pixels = v.unflatten(1, (*size, self.visible.width))
        return pixels[..., 0] if self.visible.width == 1 else pixels.permute(0, 3, 1, 2)

    def check_cases(self, cases: Cases) -> None:
        u, v = cases.u, cases.v
        checks.same_length(u=u, v=v, weight=cases.weight)
        if u is None:
            raise ValueError(NEEDS_IMAGES)
        if cases.n_cases == 0:
            raise ValueError("Training needs at least one case; got none.")
        self._check_inputs(u)
        self._check_size(v, u)
        checks.same_kind("v", v, self._parameter)
        self.visible.check("v", self.flatten_outputs(v), missing=True)

    def free_energy(
        self, v: Float[Tensor, "batch ..."], u: Float[Tensor, "batch ..."] | None = None
    ) -> Float[Tensor, " batch"]:
        """F(v, u) of images."""
        if u is None:
            raise ValueError(NEEDS_IMAGES)
        self._check_size(v, u)
        checks.same_kind("v", v, self._parameter)
        flat = self.flatten_outputs(v)
        self.visible.check_mean("v", flat)
        return self.condition(u).free_energy(flat)

    def _check_inputs(self, u: Tensor) -> None:
        if u.ndim != 4 or u.shape[1] != self.n_input_channels:
            raise ValueError(
                f"`u` must be images of shape (batch, {self.n_input_channels}, height, "
                f"width); got {tuple(u.shape)}."
            )
        checks.same_kind("u", u, self._parameter)
        checks.finite("u", u)

    def _check_size(self, v: Tensor, u: Tensor) -> None:
        width = self.visible.width
        flat = (u.shape[-2] * u.shape[-1] * width,)
        image = (*u.shape[-2:],) if width == 1 else (width, *u.shape[-2:])
        if tuple(v.shape[1:]) not in (image, flat):
            raise ValueError(
                f"`v` must have shape {('batch', *image)} to match `u`; got "
                f"{tuple(v.shape)}."
            )

    def extra_repr(self) -> str:
        return (
            f"{self.n_input_channels}, {self.n_hidden_channels}, "
            f"kernel_size={self.kernel_size}, visible={self.visible}"
        )
