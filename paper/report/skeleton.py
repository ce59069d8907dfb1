"""Draw frames of motion capture as a skeleton, and animate them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.io import loadmat
from scipy.spatial.transform import Rotation

from crbm import datasets
from paper.tables import motion


class Joint(NamedTuple):
    """The parent of a joint, and the columns of its rotation and its offset."""

    parent: int | None
    rotation: np.ndarray
    offset: np.ndarray


def joints() -> list[Joint]:
    """The skeleton of the data set `mocap`; every joint follows its parent."""
    contents = loadmat(datasets.fetch("mocap")[0])
    tree = contents["skel"][0, 0]["tree"][0]
    return [
        Joint(
            int(one["parent"][0, 0]) - 1 if one["parent"].size else None,
            one["or"].ravel().astype(int) - 1,
            one["offset"].ravel().astype(int) - 1,
        )
        for one in tree
    ]


def positions(frame: np.ndarray, skeleton: list[Joint]) -> np.ndarray:
    """The place of each joint: rotations (exponential maps) along the skeleton.

    The channels of the root are its tilt, its velocities and its height, not a place:
    the skeleton stays upright above one point.
    """
    places: list[np.ndarray] = []
    turned: list[Rotation] = []
    for parent, rotation, offset in skeleton:
        if parent is None:
            places.append(np.array([0.0, 0.0, frame[offset[2]]]))
            turned.append(Rotation.identity())
        else:
            places.append(places[parent] + turned[parent].apply(frame[offset]))
            turned.append(turned[parent] * Rotation.from_rotvec(frame[rotation]))
    return np.array(places)


def draw_walk(path: Path, n_frames: int = 90) -> Path:
    """Animate recorded frames of the test part beside generated ones."""
    frames = motion.load()
    learned = motion.regressor(motion.MODELS["CRBMRegressor"])
    rows = np.flatnonzero(frames.is_test)[:n_frames]
    walk = motion.generate(learned, frames.past[rows[0]], n_frames)
    constant = np.asarray(datasets.load("mocap").X, dtype=np.float64).mean(0)

    def all_channels(varying: np.ndarray) -> np.ndarray:
        whole = np.tile(constant, (len(varying), 1))
        whole[:, frames.channels] = varying * frames.scale + frames.center
        return whole

    recorded, generated = all_channels(frames.next[rows]), all_channels(walk)
    animate({"recorded": recorded, "generated": generated}, path)
    return path


def animate(
    motions: dict[str, np.ndarray], path: Path, *, frames_per_second: int = 15
) -> None:
    """Write motions side by side as a GIF; frames are rows of all channels."""
    import matplotlib.pyplot as plt
    from matplotlib.animation import FuncAnimation, PillowWriter

    skeleton = joints()
    walks = {
        title: np.array([positions(frame, skeleton) for frame in frames])
        for title, frames in motions.items()
    }
    figure, axes = plt.subplots(1, len(walks), figsize=(2.4 * len(walks), 3.6))
    lines = [
        _prepare(axis, title, walk, skeleton)
        for axis, (title, walk) in zip(np.atleast_1d(axes), walks.items(), strict=True)
    ]
    n_frames = min(len(walk) for walk in walks.values())

    def draw(step: int) -> list[Any]:
        for bones, walk in zip(lines, walks.values(), strict=True):
            for line, (start, stop) in zip(bones, _bones(skeleton), strict=True):
                line.set_data(*_view(walk[step])[[start, stop]].T)
        return [line for bones in lines for line in bones]

    animation = FuncAnimation(figure, draw, frames=n_frames)
    animation.save(path, writer=PillowWriter(fps=frames_per_second), dpi=70)
    plt.close(figure)


def _bones(skeleton: list[Joint]) -> list[tuple[int, int]]:
    return [(j.parent, i) for i, j in enumerate(skeleton) if j.parent is not None]


def _view(places: np.ndarray) -> np.ndarray:
    """Seen from an angle: horizontal and vertical coordinates."""
    return np.column_stack([0.9 * places[:, 0] + 0.4 * places[:, 1], places[:, 2]])


def _prepare(axis: Any, title: str, walk: np.ndarray, skeleton: list[Joint]) -> Any:
    seen = np.concatenate([_view(places) for places in walk])
    axis.set(xlim=(-700, 700), ylim=(seen[:, 1].min() - 50, seen[:, 1].max() + 50))
    axis.set_title(title, fontsize=9)
    axis.set_aspect("equal")
    axis.axis("off")
    return [axis.plot([], [], "-", lw=2, color="#24527a")[0] for _ in _bones(skeleton)]
