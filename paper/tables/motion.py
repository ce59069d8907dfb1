"""Motion capture: the next frame given past ones, one step and many steps ahead."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

import crbm
from crbm import datasets, training
from crbm.inference import exact
from crbm.models import CRBM
from crbm.objectives import ContrastiveDivergence
from crbm.types import Batch
from crbm.units import Gaussian
from paper.engine.store import Cell, Outcome

STRIDE = 2  # every other frame
N_PAST = 6
LONG = 2  # the sequence whose last fifth is tested
_LINEAR: dict[str, Any] = {"base": "ridge", "n_hidden": 0, "n_epochs": 0}
MODELS: dict[str, dict[str, Any]] = {
    "linear autoregression": {**_LINEAR, "noise": "diagonal"},
    "linear autoregression, full Gaussian": _LINEAR,
    "Gaussian CRBM, CD-1": {"cd": True, "n_hidden": 10, "n_epochs": 100},
    "CRBMRegressor": {
        "base": "ridge",
        "n_hidden": 4,
        "n_spreads": 3,
        "n_epochs": 60,
        "l2": 0.1,
    },
}


class Frames(NamedTuple):
    """Past frames as inputs and the next ones as outputs, in standard units."""

    past: np.ndarray
    next: np.ndarray
    is_test: np.ndarray
    channels: np.ndarray  # those that vary
    center: np.ndarray
    scale: np.ndarray
    sequence: np.ndarray


@cache
def load() -> Frames:
    """The channels that vary; the last fifth of the long sequence is for testing."""
    data = datasets.load("mocap")
    assert data.groups is not None
    groups = data.groups[::STRIDE]
    frames = np.asarray(data.X, dtype=np.float64)[::STRIDE]
    channels = np.flatnonzero(frames.std(0) > 1e-6)
    frames = frames[:, channels]
    long = np.flatnonzero(groups == LONG)
    is_test = np.zeros(len(frames), dtype=bool)
    is_test[long[round(0.8 * len(long)) :]] = True
    center, scale = frames[~is_test].mean(0), frames[~is_test].std(0)
    frames = (frames - center) / scale
    # a window must not reach from the training part into the test part
    past = datasets.windows(frames, range(-N_PAST, 0), groups=2 * groups + is_test)
    rows = past.rows
    return Frames(
        past.values,
        frames[rows],
        is_test[rows],
        channels,
        center,
        scale,
        groups[rows],
    )


def run_cell(cell: Cell) -> Outcome:
    """Learn the training frames and measure the next frames of the others."""
    frames, config = load(), dict(cell.config)
    learn = _by_cd if config.pop("cd", False) else _regressor
    model = learn(frames, cell.seed, **config)
    predicted, nll = model(frames.past[frames.is_test], frames.next[frames.is_test])
    error = np.sqrt(np.square(predicted - frames.next[frames.is_test]).mean())
    return Outcome({"rmse": 100 * float(error), "nll": float(nll)}, {})


def regressor(config: dict[str, Any], seed: int = 0) -> crbm.CRBMRegressor:
    """A regressor of the next frame, fitted to the training frames."""
    frames = load()
    learned = crbm.CRBMRegressor(random_state=seed, **config)
    return learned.fit(frames.past[~frames.is_test], frames.next[~frames.is_test])


def _regressor(frames: Frames, seed: int, **config: Any) -> Any:
    learned = regressor(config, seed)

    def measure(past: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, float]:
        return learned.predict(past), -float(learned.score_samples(past, truth).mean())

    return measure


def _by_cd(frames: Frames, seed: int, *, n_hidden: int, n_epochs: int) -> Any:
    """A CRBM with Gaussian units of variance 1, as Taylor, Hinton and Roweis."""
    train = ~frames.is_test
    u, v = (torch.from_numpy(part[train]) for part in (frames.past, frames.next))
    generator = torch.Generator().manual_seed(seed)
    model = CRBM(
        u.shape[1],
        v.shape[1],
        n_hidden,
        generator,
        visible=Gaussian(),
        dtype=torch.float64,
    )
    training.fit(
        model,
        ContrastiveDivergence(),
        Batch(u, v),
        n_epochs=n_epochs,
        batch_size=64,
        learning_rate=1e-3,
        optimizer=torch.optim.Adam,
        generator=generator,
        hooks=[training.CosineSchedule()],
    )

    @torch.no_grad()
    def measure(past: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, float]:
        energy = model.condition(torch.from_numpy(past))
        log_p = exact.log_probability(energy, torch.from_numpy(truth))
        return exact.marginals(energy).v.numpy(), -float(log_p.mean())

    return measure


def generate(
    learned: crbm.CRBMRegressor, past: np.ndarray, n_frames: int, seed: int = 0
) -> np.ndarray:
    """Frames that follow the past ones, each sampled given those before it."""
    frames = list(past.reshape(N_PAST, -1))
    for step in range(n_frames):
        window = np.concatenate(frames[-N_PAST:])[None]
        frames.append(learned.sample(window, random_state=seed + step)[0, 0])
    return np.array(frames[N_PAST:])
