"""What models of images share: shapes of inputs and outputs, and their checks."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from crbm import checks
from crbm.models.base import EnergyModel
from crbm.types import Cases

NEEDS_IMAGES = "{model} needs images `u`; got None."


class ImageModel(EnergyModel):
    """A model whose inputs are images and whose outputs are one unit per pixel.

    Inputs have the shape (batch, channels, height, width). Outputs have the same height
    and width: (batch, height, width), or (batch, K, height, width) where units have K
    numbers. Energies take outputs as rows, the numbers of a pixel next to each other.
    """

    n_input_channels: int

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
        u = self._require_images(u)
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
        u = self._require_images(u)
        self._check_size(v, u)
        checks.same_kind("v", v, self._parameter)
        flat = self.flatten_outputs(v)
        self.visible.check_mean("v", flat)
        return self.condition(u).free_energy(flat)

    def _require_images(self, u: Tensor | None) -> Tensor:
        if u is None:
            raise ValueError(NEEDS_IMAGES.format(model=f"A {type(self).__name__}"))
        return u

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
