"""Plots of models and predictions; each function returns matplotlib axes.

To plot the training history, use `classifier.histories_[0].plot()`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from crbm import metrics
from crbm.paths import replacing

ENDINGS = (".png", ".svg")
LARGEST_R_HAT = 10.0  # shown for all that is larger
WHITE, RED, BLUE = (255, 255, 255), (230, 40, 40), (60, 90, 200)


def save(draw: Callable[..., Any], path: Path, *args: Any) -> None:
    """Call a plotting function with `args` and save the figure to `path`."""
    figure = new_figure(6.0, 6.0)
    draw(*args, ax=figure.subplots())
    write(figure, path)


def write(figure: Any, path: Path) -> None:
    """Save a figure; equal figures give equal bytes, without a date or random ids."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "crbm"}):
        metadata = {"Date": None} if path.suffix == ".svg" else None
        kind = path.suffix.removeprefix(".") or "png"
        with replacing(path) as draft:
            figure.savefig(draft, metadata=metadata, format=kind)


def write_all(figures: Mapping[str, Any], folder: Path) -> list[Path]:
    """Save figures as `<name><ending>` for each of `ENDINGS`; returns the paths."""
    paths = []
    for name, figure in figures.items():
        for ending in ENDINGS:
            paths.append(folder / f"{name}{ending}")
            write(figure, paths[-1])
    return paths


def new_figure(width: float, height: float) -> Any:
    """An empty figure that works without a display."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Plotting needs `matplotlib`. Install it with `pip install crbm[plot]`."
        ) from error
    return Figure(figsize=(width, height), layout="constrained", dpi=120)


def in_colours(noisy: Any, predicted: Any) -> UInt8[np.ndarray, "*image 3"]:
    """Colour image: white where both images are 1, red where only the prediction is.

    As in Figure 2 of the paper, except that pixels where only the noisy image is 1 are
    blue instead of black.

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
    """Plot noisy images and their restorations side by side, as in Figure 2.

    Parameters
    ----------
    noisy
        Images (n_cases, n_pixels).
    predictions
        Restored images of the same shape, by model name.
    shape
        Height and width of an image.
    figure
        The figure to draw on; a new one by default.

    Returns
    -------
    axes
        One row per case, one column for the noisy images and one for each model.
    """
    columns = {"noisy input": noisy, **predictions}
    figure = figure or _pyplot_figure(1.5 * len(columns), 1.4 * len(noisy) + 0.3)
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
    """Plot the weights of the hidden units with the largest norms as images.

    Red pixels are turned on by the unit, blue ones off.
    """
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
    """Plot which labels attract (red) and which exclude (blue) each other.

    `strength` is the result of `crbm.inference.couplings.run`.
    """
    ax = ax or _new_axes(6.0, 5.0)
    limit = float(np.abs(strength).max()) or 1.0
    image = ax.imshow(strength, cmap="RdBu_r", vmin=-limit, vmax=limit)
    ticks = range(len(names))
    ax.set_xticks(ticks, names, rotation=90, fontsize=8)
    ax.set_yticks(ticks, names, fontsize=8)
    ax.figure.colorbar(image, ax=ax, label="log odds ratio", shrink=0.8)
    return ax


def calibration(
    truth: Any, probabilities: Any, *, n_bins: int = 10, ax: Any = None
) -> Any:
    """Plot the observed frequency of labels against their predicted probability."""
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


def chain_diagnostics(draws: Mapping[str, Any], axes: Any = None) -> np.ndarray:
    """R-hat and effective sample size of all quantities of some chains, sorted.

    Parameters
    ----------
    draws
        Named arrays of (chains, draws, ...), e.g. `{"Gibbs": trace(energy).v}` with
        `crbm.inference.diagnostics.trace`. Quantities that never change are left out.
    axes
        Two axes to draw on.
    """
    import torch

    from crbm.inference import diagnostics

    axes = _pyplot_figure(8.0, 3.5).subplots(1, 2) if axes is None else axes
    n_chains = 0
    for name, numbers in draws.items():
        chains = torch.as_tensor(numbers)
        n_chains = max(n_chains, len(chains))
        # R-hat is infinite where chains never move.
        r_hat = diagnostics.r_hat(chains).clamp(max=LARGEST_R_HAT)
        measures = r_hat, diagnostics.effective_sample_size(chains)
        for ax, values in zip(axes, measures, strict=True):
            shown = values[~values.isnan()].sort().values
            places = np.linspace(0, 100, len(shown))
            ax.plot(places, shown.numpy(), marker=".", label=name)
    titles, limits = ("R-hat", "effective sample size"), (1.01, 100 * n_chains)
    for ax, title, limit in zip(axes, titles, limits, strict=True):
        ax.axhline(limit, color="grey", linestyle=":", label=f"trusted: {limit:g}")
        ax.set_xlabel("outputs, sorted (%)")
        ax.set_title(title)
        ax.legend()
        ax.set_yscale("log")
    return np.asarray(axes)


def _pyplot_figure(width: float, height: float) -> Any:
    """A figure that notebooks display automatically."""
    new_figure(width, height)  # raises with advice if matplotlib is missing
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained")


def _new_axes(width: float, height: float) -> Any:
    return _pyplot_figure(width, height).subplots()


def _mosaic(images: np.ndarray) -> np.ndarray:
    """The images in a square grid, separated by NaN."""
    n_images, height, width = images.shape
    side = int(np.ceil(np.sqrt(n_images)))
    padded = np.full((side * side, height + 1, width + 1), np.nan)
    padded[:n_images, :height, :width] = images
    rows = padded.reshape(side, side, height + 1, width + 1)
    return rows.transpose(0, 2, 1, 3).reshape(side * (height + 1), -1)
