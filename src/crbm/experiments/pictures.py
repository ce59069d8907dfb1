"""Pictures of restored images in the colours of the paper's Figure 2."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8
from torch import Tensor

BLACK, WHITE, RED, BLUE = (0, 0, 0), (255, 255, 255), (230, 40, 40), (60, 90, 200)


def restoration(
    noisy: Float[Tensor, "*image"], predicted: Float[Tensor, "*image"]
) -> UInt8[np.ndarray, "*image 3"]:
    """White where both images have a pixel, red where only the prediction has it.

    Pixels that the prediction took away are blue; the paper leaves them black.

    Examples
    --------
    >>> import torch
    >>> restoration(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0])).tolist()
    [[255, 255, 255], [230, 40, 40]]
    """
    here, there = noisy.numpy() > 0.5, predicted.numpy() > 0.5
    picture = np.zeros((*here.shape, 3), dtype=np.uint8)
    picture[here & there] = WHITE
    picture[~here & there] = RED
    picture[here & ~there] = BLUE
    return picture


def restoration_figure(
    noisy: Float[Tensor, "cases pixels"],
    predictions: Mapping[str, Float[Tensor, "cases pixels"]],
    shape: tuple[int, int],
    path: Path,
) -> Path:
    """Write a picture with one column for the noisy images and one for each model."""
    from matplotlib.figure import Figure

    columns = {"noisy input": noisy, **predictions}
    figure = Figure(figsize=(1.5 * len(columns), 0.75 * len(noisy)), layout="tight")
    axes = figure.subplots(len(noisy), len(columns), squeeze=False)
    for column, (title, images) in enumerate(columns.items()):
        axes[0, column].set_title(title, fontsize=8)
        for row, image in enumerate(images):
            picture = restoration(noisy[row].reshape(shape), image.reshape(shape))
            axes[row, column].imshow(picture, interpolation="nearest")
            axes[row, column].set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path
