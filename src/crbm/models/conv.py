"""A CRBM for images of any size: weights shared over positions."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.functional import conv2d

from crbm import checks
from crbm.energies import BipartiteEnergy, Conv2d, Coupling, Dense, PerCase
from crbm.models.base import small_normal
from crbm.models.images import ImageModel
from crbm.units import BERNOULLI, Categorical, Units


class ConvCRBM(ImageModel):
    """A conditional RBM over images with convolutional weights.

    The outputs are an image as large as the input, with one binary or real number, or
    one categorical unit, per pixel. No size is part of the model, so the same weights
    serve images of any height and width (all images of one batch have one size).

    The hidden units are of one of two kinds: maps as large as the image, coupled to the
    outputs by a window of weights that all positions share; or one categorical unit for
    the whole image, coupled to every output by weights that are computed from u. Its
    `n_modes` values are summed out, so that the likelihood, the marginals and samples
    of p(v | u) are exact (`objectives.ExactLikelihood`, `inference.exact`).

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
        Any module from u to maps of shape (batch, n_maps, height, width), see Notes; a
        convolution with the same window unless given. It is trained end to end.
    n_modes
        Values of the hidden unit of the whole image; `n_hidden_channels` is 0 then.
        Without hidden units of either kind the outputs are independent given u.
    init_scale
        Standard deviation of the initial couplings.

    Attributes
    ----------
    n_maps
        Number of maps that the network returns.

    Notes
    -----
    Of the maps, the first K are the biases of the outputs, where K is 1 unless outputs
    are categorical. Then come the biases of the hidden maps; or, for `n_modes` values,
    as many maps whose means are the log-odds of p(h | u), and K maps of couplings for
    each. The bias of a value is the log-odds minus log Z of the outputs given it, so
    p(v | u) is a mixture whose weights the network sets directly. Were that bias free,
    one value would take all the mass as soon as couplings to many pixels grow.

    Examples
    --------
    >>> model = ConvCRBM(n_input_channels=3, n_hidden_channels=4, kernel_size=3)
    >>> u, v = torch.zeros(2, 3, 8, 10), torch.zeros(2, 8, 10)
    >>> model.free_energy(v, u).shape
    torch.Size([2])
    """

    weight_vh: nn.Parameter
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
        n_modes: int = 0,
        init_scale: float = 0.01,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        checks.whole_number("n_input_channels", n_input_channels, at_least=1)
        checks.whole_number("n_modes", n_modes, at_least=0)
        checks.whole_number("n_hidden_channels", n_hidden_channels, at_least=0)
        if n_modes and n_hidden_channels:
            raise ValueError(
                "Hidden units are either maps or one unit for the image: set "
                f"`n_hidden_channels` to 0 for {n_modes} modes; got "
                f"{n_hidden_channels}."
            )
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
        self.n_modes = n_modes
        self.n_maps = visible.width * (1 + n_modes) + n_modes + n_hidden_channels

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

        if n_hidden_channels:
            self.weight_vh = window(n_hidden_channels, visible.width, init_scale)
        self.weight_u = self.bias = None
        if network is None:
            self.weight_u = window(self.n_maps, n_input_channels)
            zeros = torch.zeros(self.n_maps, dtype=dtype, device=device)
            self.bias = nn.Parameter(zeros)

    def _condition(
        self, u: Float[Tensor, "batch channels height width"] | None
    ) -> BipartiteEnergy:
        """p(v | u) for images of the size of u."""
        u = self._require_images(u)
        maps = self._maps(u).permute(0, 2, 3, 1).flatten(1, 2)
        if self.n_modes:
            return self._mixture(*self._modes(maps))
        visible, hidden = maps.split((self.visible.width, self.n_hidden_channels), -1)
        size = u.shape[-2], u.shape[-1]
        coupling: Coupling = Dense(maps.new_empty(visible[0].numel(), 0))
        if self.n_hidden_channels:
            coupling = Conv2d(self.weight_vh, size)
        return BipartiteEnergy(
            coupling,
            visible.flatten(1),
            hidden.flatten(1),
            self.visible,
            has_visible_input=True,
        )

    def condition_mirrored(
        self, u: Float[Tensor, "batch channels height width"]
    ) -> BipartiteEnergy:
        """The mean of p(v | u) and of what it is, mirrored back, for the mirror image.

        For models whose training images are mirrored left to right. The modes of both
        are those of one hidden unit, so everything stays exact.

        Examples
        --------
        >>> model, u = ConvCRBM(1, 0, n_modes=2), torch.rand(3, 1, 4, 5)
        >>> model.condition_mirrored(u).n_hidden
        4
        """
        self._check_inputs(u)
        if self.n_hidden_channels:
            raise ValueError(
                "Images are mirrored only without maps of hidden units; got "
                f"{self.n_hidden_channels}."
            )
        maps = self._maps(u), self._maps(u.flip(-1)).flip(-1)
        own, mirrored = (
            self._modes(each.permute(0, 2, 3, 1).flatten(1, 2)) for each in maps
        )
        (visible, log_p, weight), (other, other_log_p, other_weight) = own, mirrored
        return self._mixture(
            visible,
            torch.cat([log_p.log_softmax(-1), other_log_p.log_softmax(-1)], -1),
            torch.cat([weight, other_weight + (other - visible)[..., None]], -1),
        )

    def _modes(
        self, maps: Float[Tensor, "batch pixels maps"]
    ) -> tuple[
        Float[Tensor, "batch visible"],
        Float[Tensor, "batch modes"],
        Float[Tensor, "batch visible modes"],
    ]:
        """Biases of the outputs, log-odds of the modes, and couplings of both.

        Without modes, those of a single mode without couplings.
        """
        width, n_modes = self.visible.width, self.n_modes
        sizes = (width, n_modes, width * n_modes)
        visible, hidden, couplings = maps.split(sizes, -1)
        visible = visible.flatten(1)
        if not n_modes:
            return (
                visible,
                visible.new_zeros(len(maps), 1),
                visible.new_zeros(*visible.shape, 1),
            )
        weight = couplings.unflatten(-1, (width, n_modes)).flatten(1, 2)
        return visible, hidden.mean(1), weight

    def _mixture(
        self,
        visible: Float[Tensor, "batch visible"],
        log_p: Float[Tensor, "batch modes"],
        weight: Float[Tensor, "batch visible modes"],
    ) -> BipartiteEnergy:
        """A mixture of modes with these log-odds, in each of which pixels are alone."""
        given_mode = visible[:, None] + weight.mT
        log_z = self.visible.log_partition(given_mode)
        return BipartiteEnergy(
            PerCase(weight),
            visible,
            log_p - log_z,
            self.visible,
            Categorical(log_p.shape[-1]),
            has_visible_input=True,
        )

    def _maps(self, u: Tensor) -> Tensor:
        if self.network is None:
            assert self.weight_u is not None
            return conv2d(u, self.weight_u, self.bias, padding=self.kernel_size // 2)
        maps = self.network(u)
        expected = (len(u), self.n_maps, *u.shape[-2:])
        if tuple(maps.shape) != expected:
            raise ValueError(
                "The network must return one map per output and hidden channel, shape "
                f"{expected}; got {tuple(maps.shape)}."
            )
        return maps

    def extra_repr(self) -> str:
        return (
            f"{self.n_input_channels}, {self.n_hidden_channels}, "
            f"kernel_size={self.kernel_size}, visible={self.visible}"
            + (f", n_modes={self.n_modes}" if self.n_modes else "")
        )
