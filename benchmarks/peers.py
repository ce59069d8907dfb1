"""Time the same work in crbm and in other packages, alternating in one run.

Each peer runs `peer_work.py` in a separate Python interpreter, which need not have crbm
installed, and reports its own times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks import peer_work
from crbm import training
from crbm.energies import PairwiseEnergy
from crbm.inference import loopy_bp
from crbm.models import RBM
from crbm.objectives import (
    ContrastiveDivergence,
    Objective,
    PersistentContrastiveDivergence,
)
from crbm.types import Batch

ROUNDS = 9
N_IMAGES, N_PIXELS, N_HIDDEN, BATCH, N_EPOCHS = 1536, 784, 256, 128, 4
N_CASES, N_UNITS, N_STEPS = 917, 14, 20
ONE_THREAD = {
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
    ),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


class Seconds(NamedTuple):
    """CPU time and wall-clock time of one run."""

    cpu: float
    wall: float


class Match(NamedTuple):
    """Work that a peer and crbm both do; `share_on` of the pixels are 1."""

    peer: str
    work: str
    ours: Callable[[dict[str, np.ndarray]], Callable[[], Any]]
    share_on: float = 0.15


def rows(
    echo: Callable[[str], None], pythons: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """How many times faster crbm is than each installed peer.

    Parameters
    ----------
    echo
        Prints a line of progress.
    pythons
        Further interpreters that may have peers installed.
    """
    results = []
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for match in MATCHES:
            echo(f"{match.peer}: {match.work} ...")
            row = _row(match, [sys.executable, *pythons])
            if row is None:
                echo(f"{match.peer} is skipped: it is not installed. {HINT}")
            else:
                results.append(row)
    finally:
        torch.set_num_threads(n_threads)
    return results


HINT = "Pass an interpreter that has it with --peer-python."


def _row(match: Match, pythons: Sequence[str]) -> dict[str, Any] | None:
    problem = _problem(match.share_on)
    ours = match.ours(problem)
    for python in pythons:
        with Worker.start(python, match.peer, problem) as worker:
            if worker is None:
                continue
            difference = _difference(ours(), worker.result)
            pairs = [(_time(ours), worker.run()) for _ in range(ROUNDS)]
            return {
                "peer": match.peer,
                "work": match.work,
                **_compare(pairs),
                **difference,
            }
    return None


def _compare(pairs: Sequence[tuple[Seconds, Seconds]]) -> dict[str, float]:
    """Medians over the rounds; each ratio compares two consecutive runs."""
    return {
        "ms": 1000 * median(ours.cpu for ours, _ in pairs),
        "peer ms": 1000 * median(peer.cpu for _, peer in pairs),
        "times faster": median(peer.cpu / ours.cpu for ours, peer in pairs),
        "by the clock": median(peer.wall / ours.wall for ours, peer in pairs),
    }


def _difference(ours: Any, theirs: Any) -> dict[str, float | None]:
    """The largest difference between the two results, if the work has a result."""
    if theirs is None:
        return {"largest difference": None}
    return {"largest difference": float(np.abs(np.asarray(ours) - theirs).max())}


def _time(work: Callable[[], Any]) -> Seconds:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Seconds(time.process_time() - cpu, time.perf_counter() - wall)


class Worker:
    """A process that repeats a peer's work on request."""

    def __init__(self, process: subprocess.Popen[str], result: Any) -> None:
        self.process = process
        self.result = None if result is None else np.asarray(result)

    @classmethod
    @contextmanager
    def start(
        cls, python: str, peer: str, problem: dict[str, np.ndarray]
    ) -> Iterator[Worker | None]:
        """Start a worker for a peer; yields None if the peer is not installed."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "problem.npz"
            np.savez(path, allow_pickle=False, **problem)
            command = [python, peer_work.__file__, peer, str(path)]
            with subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, **ONE_THREAD},
            ) as process:
                try:
                    first = _line(process, peer)
                    yield None if "missing" in first else cls(process, first["result"])
                finally:
                    process.kill()

    def run(self) -> Seconds:
        """Repeat the work; returns its times."""
        assert self.process.stdin is not None
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return Seconds(*_line(self.process, "the peer"))


def _line(process: subprocess.Popen[str], peer: str) -> Any:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    if not line:
        reason = process.stderr.read().strip().splitlines()[-1:]
        raise ValueError(f"{peer} ended without a result: {' '.join(reason)}")
    return json.loads(line)


def _problem(share_on: float) -> dict[str, np.ndarray]:
    """Images for training, and a fully connected CRF with the size of Yeast."""
    rng = np.random.default_rng(0)
    couplings = np.triu(rng.normal(0, 0.3, (N_UNITS, N_UNITS)), 1)
    return {
        "images": (rng.random((N_IMAGES, N_PIXELS)) < share_on).astype(np.float32),
        "n_hidden": np.array(N_HIDDEN),
        "batch_size": np.array(BATCH),
        "n_epochs": np.array(N_EPOCHS),
        "fields": rng.normal(size=(N_CASES, N_UNITS)).astype(np.float32),
        "couplings": (couplings + couplings.T).astype(np.float32),
        "n_steps": np.array(N_STEPS),
    }


def _training(
    make_objective: Callable[[], Objective],
) -> Callable[[dict[str, np.ndarray]], Callable[[], None]]:
    """Epochs of `training.fit`."""

    def prepare(problem: dict[str, np.ndarray]) -> Callable[[], None]:
        generator = torch.Generator().manual_seed(0)
        data = Batch(None, torch.from_numpy(problem["images"]))
        model = RBM(data.v.shape[1], N_HIDDEN, generator)
        objective = make_objective()

        def epochs() -> None:
            training.fit(
                model,
                objective,
                data,
                n_epochs=N_EPOCHS,
                batch_size=BATCH,
                learning_rate=1e-3,
                generator=generator,
            )

        return epochs

    return prepare


def _belief_propagation(problem: dict[str, np.ndarray]) -> Callable[[], np.ndarray]:
    """Loopy belief propagation on all cases."""
    energy = PairwiseEnergy(
        torch.from_numpy(problem["couplings"]), torch.from_numpy(problem["fields"])
    )
    n_steps = int(problem["n_steps"])
    return lambda: loopy_bp.run(energy, n_steps=n_steps, damping=0.0).v.numpy()


N_UPDATES = N_EPOCHS * N_IMAGES // BATCH
PERSISTENT = f"PCD-1, {N_UPDATES} updates of batch {BATCH}, {N_PIXELS}-{N_HIDDEN}"
BELIEFS = f"loopy BP, {N_STEPS} rounds, {N_UNITS} units x {N_CASES} cases"
MATCHES = (
    Match("bare products", PERSISTENT, _training(PersistentContrastiveDivergence)),
    Match("scikit-learn", PERSISTENT, _training(PersistentContrastiveDivergence)),
    Match(
        "scikit-learn",
        f"{PERSISTENT}, half of the pixels on",
        _training(PersistentContrastiveDivergence),
        share_on=0.5,
    ),
    Match("rbms", PERSISTENT, _training(PersistentContrastiveDivergence)),
    Match(
        "learnergy", PERSISTENT.replace("PCD", "CD"), _training(ContrastiveDivergence)
    ),
    Match("edge by edge", BELIEFS, _belief_propagation),
    Match("PGMax", BELIEFS, _belief_propagation),
)
