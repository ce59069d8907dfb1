"""Pictures of restored images, written to files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from crbm import plotting


def restoration_figure(
    noisy: Float[Tensor, "cases pixels"],
    predictions: Mapping[str, Float[Tensor, "cases pixels"]],
    shape: tuple[int, int],
    path: Path,
) -> Path:
    """Write a picture with one column for the noisy images and one for each model."""
    figure = plotting.blank(1.2 * (len(predictions) + 1), 1.2 * len(noisy) + 0.3)
    plotting.restoration(noisy, predictions, shape, figure=figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path
