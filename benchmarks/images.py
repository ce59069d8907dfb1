"""Label a folder of images by the command line: time and peak memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image

import crbm

N_IMAGES, LARGEST = 500, 512  # pixels of a side
SETTINGS: dict[str, Any] = {}  # of the model; the default
# Runs the command line and prints the peak of this process alone.
PROGRAM = """
import sys
from benchmarks.memory import peak_megabytes
from crbm.cli import app
try:
    app(sys.argv[1:], standalone_mode=False)
finally:
    print("PEAK", peak_megabytes())
"""


def rows(echo: Callable[[str], None]) -> list[dict[str, Any]]:
    """Seconds and peak megabytes of `crbm predict` on colour images of mixed sizes."""
    with TemporaryDirectory() as name:
        return [_row(Path(name), echo)]


def write_images(folder: Path, n_images: int, largest: int) -> int:
    """Write colour PNGs with sides from an eighth of `largest` to it; count pixels."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    n_pixels = 0
    for place in range(n_images):
        width, height = rng.integers(largest // 8, largest + 1, 2).tolist()
        if place == 0:
            width = height = largest
        coarse = Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8))
        coarse.resize((width, height)).save(folder / f"{place:04}.png")
        n_pixels += width * height
    return n_pixels


def _row(folder: Path, echo: Callable[[str], None]) -> dict[str, Any]:
    n_pixels = write_images(folder / "images", N_IMAGES, LARGEST)
    model, out = folder / "model.safetensors", folder / "labels"
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (8, 32, 32, 3), np.uint8)
    classifier = crbm.PixelClassifier(n_epochs=1, random_state=0, **SETTINGS)
    classifier.fit(images, images[..., 0] // 128).save(model)
    echo(f"labelling {N_IMAGES} images ...")
    command = ["predict", str(model), str(folder / "images"), "--out", str(out)]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - start
    peak = done.stdout.rsplit("PEAK ", 1)[1].strip()
    return {
        "images": len(list(out.glob("*.png"))),
        "megapixels": n_pixels / 1e6,
        "largest side": LARGEST,
        "model file MB": model.stat().st_size / 1e6,
        "seconds": seconds,
        "peak MB": None if peak == "None" else float(peak),
    }
