"""Pictures of models and predictions; each function returns matplotlib's axes.

The course of a training is drawn by `classifier.histories_[0].plot()`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from crbm import metrics

ENDINGS = (".png", ".svg")
WHITE, RED, BLUE = (255, 255, 255), (230, 40, 40), (60, 90, 200)


def save(draw: Callable[..., Any], path: Path, *args: Any) -> None:
    """Write what a function of this module draws on one pair of axes to a file."""
    figure = blank(6.0, 6.0)
    draw(*args, ax=figure.subplots())
    write(figure, path)


def write(figure: Any, path: Path) -> None:
    """Write a figure to a file: the same picture is the same bytes, whenever drawn."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "crbm"}):
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=metadata)


def write_all(figures: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write figures under their names, in each of `ENDINGS`; the files."""
    paths = []
    for name, figure in figures.items():
        for ending in ENDINGS:
            paths.append(folder / f"{name}{ending}")
            write(figure, paths[-1])
    return paths


def blank(width: float, height: float) -> Any:
    """An empty figure that needs no screen."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Drawing needs `matplotlib`. Install it with `pip install crbm[plot]`."
        ) from error
    return Figure(figsize=(width, height), layout="constrained", dpi=120)


def in_colours(noisy: Any, predicted: Any) -> UInt8[np.ndarray, "*image 3"]:
    """White where both images have a pixel, red where only the prediction has it.

    The colours of the paper's Figure 2. Pixels that the prediction took away are blue;
    the paper leaves them black.

    Examples
    --------
    >>> in_colours(np.array([1.0, 0.0]), np.array([1.0, 1.0])).tolist()
    [[255, 255, 255], [230, 40, 40]]
    """
    here, there = np.asarray(noisy) > 0.5, np.asarray(predicted) > 0.5
    picture = np.zeros((*here.shape, 3), dtype=np.uint8)
    picture[here & there] = WHITE
    picture[~here & there] = RED
    picture[here & ~there] = BLUE
    return picture


def restoration(
    noisy: Any,
    predictions: Mapping[str, Any],
    shape: tuple[int, int],
    *,
    figure: Any = None,
) -> np.ndarray:
    """The noisy images and each model's restoration of them, as in Figure 2.

    Parameters
    ----------
    noisy
        Images (cases, pixels).
    predictions
        Images of the same size by the name of what made them.
    shape
        Height and width of an image.
    figure
        Where to draw; a new one unless given.

    Returns
    -------
    axes
        One row per case, one column for the noisy images and one for each model.
    """
    columns = {"noisy input": noisy, **predictions}
    figure = figure or _shown(1.5 * len(columns), 1.4 * len(noisy) + 0.3)
    grid: np.ndarray = figure.subplots(len(noisy), len(columns), squeeze=False)
    for column, (title, images) in enumerate(columns.items()):
        grid[0, column].set_title(title, fontsize=9)
        for row, image in enumerate(images):
            picture = in_colours(noisy[row], image).reshape(*shape, 3)
            grid[row, column].imshow(picture, interpolation="nearest")
            grid[row, column].set_axis_off()
    return grid


def filters(
    weights: Float[np.ndarray, "visible hidden"],
    shape: tuple[int, int],
    *,
    n_filters: int = 64,
    ax: Any = None,
) -> Any:
    """The outputs that the strongest hidden units ask for (red) or forbid (blue)."""
    ax = ax or _new_axes(6.0, 6.0)
    strongest = np.argsort(-np.linalg.norm(weights, axis=0))[:n_filters]
    mosaic = _mosaic(weights[:, strongest].T.reshape(-1, *shape))
    limit = float(np.nanquantile(np.abs(mosaic), 0.99)) or 1.0
    ax.imshow(mosaic, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
    ax.set_axis_off()
    ax.set_title(f"the {len(strongest)} strongest of {weights.shape[1]} hidden units")
    return ax


def label_couplings(
    strength: Float[np.ndarray, "labels labels"],
    names: Sequence[str],
    *,
    ax: Any = None,
) -> Any:
    """Which labels attract (red) and which exclude (blue) each other.

    `strength` is what `crbm.inference.couplings.run` gives.
    """
    ax = ax or _new_axes(6.0, 5.0)
    limit = float(np.abs(strength).max()) or 1.0
    image = ax.imshow(strength, cmap="RdBu_r", vmin=-limit, vmax=limit)
    places = range(len(names))
    ax.set_xticks(places, names, rotation=90, fontsize=8)
    ax.set_yticks(places, names, fontsize=8)
    ax.figure.colorbar(image, ax=ax, label="log odds ratio", shrink=0.8)
    return ax


def calibration(
    truth: Any, probabilities: Any, *, n_bins: int = 10, ax: Any = None
) -> Any:
    """How often labels were present against how likely they were said to be."""
    ax = ax or _new_axes(4.0, 4.0)
    curve = metrics.reliability_curve(truth, probabilities, n_bins=n_bins)
    full = curve.size > 0
    ax.plot([0, 1], [0, 1], color="grey", linestyle=":", label="perfect")
    ax.plot(curve.predicted[full], curve.observed[full], marker="o", label="measured")
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("observed frequency")
    ax.set_aspect("equal")
    ax.legend()
    return ax


def _shown(width: float, height: float) -> Any:
    """A figure that notebooks show by themselves."""
    blank(width, height)  # tells how to install matplotlib where it is missing
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained")


def _new_axes(width: float, height: float) -> Any:
    return _shown(width, height).subplots()


def _mosaic(images: np.ndarray) -> np.ndarray:
    """Images side by side in a square, with gaps of NaN."""
    n_images, height, width = images.shape
    side = int(np.ceil(np.sqrt(n_images)))
    padded = np.full((side * side, height + 1, width + 1), np.nan)
    padded[:n_images, :height, :width] = images
    rows = padded.reshape(side, side, height + 1, width + 1)
    return rows.transpose(0, 2, 1, 3).reshape(side * (height + 1), -1)
