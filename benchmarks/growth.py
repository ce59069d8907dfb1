"""Measure how time grows with the size of the problem, as a fitted exponent."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from crbm import training
from crbm.estimators.hashed_cases import HashedCases, SetTable
from crbm.hashing.ragged import Groups, Ragged
from crbm.models import CRBM
from crbm.objectives import CandidateLikelihood, Objective, Perceptron
from crbm.types import Batch, Cases

ROUNDS = 5
N_PIXELS, N_HIDDEN, BATCH = 784, 256, 128
N_LABELS, N_CANDIDATES, LABEL_BATCH = 64, 64, 32

Work = Callable[[], None]


class Axis(NamedTuple):
    """One size that grows while the others stay the same."""

    cost: str
    against: str
    sizes: tuple[int, ...]
    work: Callable[[int], Work]


def rows(echo: Callable[[str], None]) -> list[dict[str, Any]]:
    """The exponent of each axis: processor time grows as size to this power."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [_row(axis, echo) for axis in AXES]
    finally:
        torch.set_num_threads(n_threads)


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """The slope of the least-squares line through the logarithms.

    Examples
    --------
    >>> round(exponent((1, 2, 4), [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot the measured times and the fitted lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5.5), layout="constrained")
    axes = figure.subplots()
    for row in rows:
        size = np.array(row["sizes"]) / row["sizes"][0]
        level = np.exp(np.mean(np.log(row["all ms"]) - row["exponent"] * np.log(size)))
        label = f"{row['cost']} against {row['against']}: {row['exponent']:.2f}"
        (points,) = axes.loglog(size, row["all ms"], "o", label=label)
        axes.loglog(size, level * size ** row["exponent"], color=points.get_color())
    axes.set(xlabel="size, relative to the smallest", ylabel="processor time, ms")
    figure.legend(loc="outside lower center", fontsize="small")
    figure.savefig(path, dpi=120)


def _row(axis: Axis, echo: Callable[[str], None]) -> dict[str, Any]:
    echo(f"{axis.cost} against {axis.against} ...")
    works = [axis.work(size) for size in axis.sizes]
    for work in works:
        work()
    rounds = [[_seconds(work) for work in works] for _ in range(ROUNDS)]
    seconds = [median(column) for column in zip(*rounds, strict=True)]
    return {
        "cost": axis.cost,
        "against": axis.against,
        "from": axis.sizes[0],
        "to": axis.sizes[-1],
        "ms at first": 1000 * seconds[0],
        "ms at last": 1000 * seconds[-1],
        "exponent": exponent(axis.sizes, seconds),
        "sizes": list(axis.sizes),
        "all ms": [1000 * value for value in seconds],
    }


def _seconds(work: Work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _training(
    model: CRBM,
    objective: Objective,
    data: Cases,
    batch_size: int,
    generator: torch.Generator,
) -> Work:
    def epoch() -> None:
        training.fit(
            model,
            objective,
            data,
            n_epochs=1,
            batch_size=batch_size,
            learning_rate=2**-10,
            generator=generator,
        )

    return epoch


def _images(
    *, n_cases: int = 4 * BATCH, n_hidden: int = N_HIDDEN, batch: int = BATCH
) -> Work:
    """An epoch of CD-PercLoss on images."""
    generator = torch.Generator().manual_seed(0)
    model = CRBM(N_PIXELS, N_PIXELS, n_hidden, generator)
    u, v = (_random_bits(n_cases, N_PIXELS, generator) for _ in range(2))
    return _training(model, Perceptron(10), Batch(u, v), batch, generator)


def _labels(n_sets: int, *, hashed: bool) -> Work:
    """An epoch of candidate likelihood; `hashed` gives each case few candidates."""
    generator = torch.Generator().manual_seed(0)
    model = CRBM(N_LABELS, N_LABELS, 128, generator)
    table = _random_bits(n_sets, N_LABELS, generator)
    u = torch.randn(4 * LABEL_BATCH, N_LABELS, generator=generator)
    v = table[: len(u)]
    data: Cases = Batch(u, v, candidates=table)
    if hashed:
        groups = _random_candidates(len(u), n_sets)
        data = HashedCases(u, v, None, SetTable(table, None), groups)
    return _training(model, CandidateLikelihood(), data, LABEL_BATCH, generator)


def _random_candidates(n_cases: int, n_sets: int) -> Groups:
    """`N_CANDIDATES` random candidates per case, with its own label set among them."""
    rng = np.random.default_rng(0)
    ids = rng.integers(n_sets, size=(n_cases, N_CANDIDATES))
    ids[:, 0] = np.arange(n_cases)
    ends = np.arange(n_cases + 1) * N_CANDIDATES
    return Groups(np.arange(n_cases), Ragged(ends, ids.astype(np.int32).ravel()))


def _random_bits(n_rows: int, n_columns: int, generator: torch.Generator) -> Tensor:
    return (torch.rand(n_rows, n_columns, generator=generator) < 0.15).float()


EPOCH, UPDATES = "CD-PercLoss-10, an epoch", "CD-PercLoss-10, 4 updates"
LIKELIHOOD = "HashCRBM, 4 updates"
AXES = (
    Axis(EPOCH, "cases", (256, 512, 1024, 2048), lambda n: _images(n_cases=n)),
    Axis(
        UPDATES, "hidden units", (32, 64, 128, 256, 512), lambda n: _images(n_hidden=n)
    ),
    Axis(
        UPDATES,
        "batch",
        (8, 32, 128, 512),
        lambda n: _images(n_cases=4 * n, batch=n),
    ),
    Axis(
        f"{LIKELIHOOD}, all sets as candidates",
        "label sets",
        (256, 512, 1024, 2048),
        lambda n: _labels(n, hashed=False),
    ),
    Axis(
        f"{LIKELIHOOD}, {N_CANDIDATES} candidates",
        "label sets",
        (2048, 8192, 32768, 131072),
        lambda n: _labels(n, hashed=True),
    ),
)
