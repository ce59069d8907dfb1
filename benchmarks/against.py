"""Time the same work with two source trees in turns, e.g. before and after a change.

    python -m benchmarks.against OLD_TREE [NEW_TREE] > rows.json

Each tree runs in a process of its own; one call with the one follows one call with the
other, so that varying load affects both alike. Times are CPU seconds on one thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

N_ROUNDS = 25


def main(old: str, new: str = ".") -> None:
    """Print the ratios of the new tree's times to the old one's, as JSON."""
    workers = [_Worker(Path(tree).resolve()) for tree in (old, new)]
    rows = [_row(name, *workers) for name in WORK]
    json.dump(rows, sys.stdout, indent=1)


class _Worker:
    """A process that runs work with the sources of one tree."""

    def __init__(self, tree: Path) -> None:
        paths = os.pathsep.join([str(tree / "src"), str(tree)])
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )

    def seconds(self, name: str) -> float:
        """CPU seconds of one call."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def _row(name: str, old: _Worker, new: _Worker) -> dict[str, Any]:
    for worker in (old, new):
        worker.seconds(name)  # compiles kernels
    pairs = [(old.seconds(name), new.seconds(name)) for _ in range(N_ROUNDS)]
    ratios = [after / before for before, after in pairs]
    low, _, high = quantiles(ratios, n=4)
    row = {
        "work": name,
        "before ms": 1000 * median(before for before, _ in pairs),
        "after ms": 1000 * median(after for _, after in pairs),
        "ratio": median(ratios),
        "quartiles": [low, high],
    }
    print(f"{name}: {row['ratio']:.3f} ({low:.3f} to {high:.3f})", file=sys.stderr)
    return row


def _work() -> None:
    """Time what each line of the standard input names."""
    prepared: dict[str, Callable[[], object]] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in prepared:
            prepared[name] = WORK[name]()
        start = time.process_time()
        prepared[name]()
        print(time.process_time() - start, flush=True)


def _training(objective: str, n_steps: int, sizes: tuple[int, int, int], share: float):  # type: ignore[no-untyped-def]
    import torch

    from crbm import models, objectives, training, types

    n_inputs, n_visible, n_hidden = sizes
    generator = torch.Generator().manual_seed(0)

    def images(width: int) -> Any:
        return (torch.rand(512, width, generator=generator) < share).float()

    data = types.Batch(images(n_inputs), images(n_visible))
    model = models.CRBM(n_inputs, n_visible, n_hidden, generator)
    return partial(
        training.fit,
        model,
        getattr(objectives, objective)(n_steps),
        data,
        n_epochs=4,
        batch_size=128 if n_inputs > 100 else 32,
        learning_rate=2**-10,
        generator=generator,
        n_threads=1,
        progress=False,
    )


def _candidates():  # type: ignore[no-untyped-def]
    import numpy as np

    from crbm.estimators import HashCRBMClassifier

    random = np.random.default_rng(0)
    X = random.normal(size=(800, 60)).astype(np.float32)
    Y = (X @ random.normal(size=(60, 12)) > 5).astype(float)
    classifier = HashCRBMClassifier(
        n_epochs=4,
        n_bits=5,
        radius=1,
        n_hidden=128,
        init_scale=0.01,
        learning_rate=2**-6,
        preprocessing="none",
        n_threads=1,
        random_state=0,
    )
    if "base_measure" in classifier.get_params():  # not so in the first versions
        classifier.set_params(base_measure="uniform")
    return partial(classifier.fit, X, Y)


def _beliefs():  # type: ignore[no-untyped-def]
    import torch

    from crbm import models
    from crbm.inference import loopy_bp

    generator = torch.Generator().manual_seed(0)
    model = models.CRBM(20, 14, 32, generator, init_scale=0.5)
    energy = model.condition(torch.rand(64, 20, generator=generator))
    return torch.no_grad()(partial(loopy_bp.run, energy, n_steps=20))


IMAGES, LABELS = (784, 784, 256), (20, 16, 10)
WORK: dict[str, Callable[[], Callable[[], object]]] = {
    f"{name}, {'x'.join(map(str, sizes))}, {100 * share:g} % ones": partial(
        _training, objective, n_steps, sizes, share
    )
    for name, objective, n_steps in (
        ("CD-1", "ContrastiveDivergence", 1),
        ("CD-10", "ContrastiveDivergence", 10),
        ("CD-PercLoss-10", "Perceptron", 10),
    )
    for sizes, share in ((IMAGES, 0.15), (IMAGES, 0.5), (LABELS, 0.5))
} | {"HashCRBM, 12 labels": _candidates, "loopy BP, 14 labels": _beliefs}


if __name__ == "__main__":
    _work() if sys.argv[1:] == ["--worker"] else main(*sys.argv[1:])
