"""Time an estimator under torchrun: two ranks beside one process.

Each runs in processes of its own with one thread each; the time is that of the epochs,
by the clock, without start-up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

N_PIXELS, N_HIDDEN, N_CASES, BATCH = 784, 256, 8192, 512
N_EPOCHS, ROUNDS = 8, 5
OBJECTIVES = {"CD-1": ("cd", 1), "CD-PercLoss-10": ("perceptron", 10)}


def rows(echo: Callable[[str], None]) -> list[dict[str, Any]]:
    """Seconds per epoch with one process and with two ranks, and the speed-up."""
    return [_row(name, echo) for name in OBJECTIVES]


def _row(name: str, echo: Callable[[str], None]) -> dict[str, Any]:
    pairs = []
    for number in range(ROUNDS):
        echo(f"{name}, round {number + 1} of {ROUNDS} ...")
        pairs.append([_seconds(name, n_ranks) for n_ranks in (1, 2)])
    ratios = [one / two for one, two in pairs]
    return {
        "objective": name,
        "batch": BATCH,
        "one process ms": 1000 * median(one for one, _ in pairs),
        "two ranks ms": 1000 * median(two for _, two in pairs),
        "times faster": median(ratios),
        "all ratios": ratios,
        "load average": os.getloadavg()[0],
    }


def _seconds(name: str, n_ranks: int) -> float:
    """Seconds of an epoch, the median over all but the first."""
    launcher = ["-m", "torch.distributed.run", "--standalone"]
    launcher += [f"--nproc-per-node={n_ranks}"]
    tree = str(Path(__file__).parents[1])
    paths = os.pathsep.join([tree, os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "seconds.json")
        command = [*(launcher if n_ranks > 1 else ()), __file__, name, str(out)]
        subprocess.run(
            [sys.executable, *command],
            check=True,
            capture_output=True,
            env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )
        return float(json.loads(out.read_text()))


def measure(name: str, out: Path) -> None:
    """Fit a classifier and write the seconds of an epoch; only the first rank does."""
    from crbm.estimators import CRBMClassifier
    from crbm.training import distributed

    rng = np.random.default_rng(0)
    images = (rng.random((N_CASES, N_PIXELS)) < 0.15).astype(np.float32)
    objective, n_steps = OBJECTIVES[name]
    classifier = CRBMClassifier(
        n_hidden=N_HIDDEN,
        objective=objective,
        objective_params={"n_steps": n_steps},
        n_epochs=N_EPOCHS,
        batch_size=BATCH,
        learning_rate=2**-10,
        preprocessing="none",
        n_threads=1,
        random_state=0,
    )
    classifier.fit(images, images)
    seconds = [epoch.seconds for epoch in classifier.histories_[0].epochs]
    if distributed.writes_files():
        out.write_text(json.dumps(median(seconds[1:])))


if __name__ == "__main__":
    measure(sys.argv[1], Path(sys.argv[2]))
