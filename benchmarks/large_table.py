"""Time and memory of HashCRBM updates against the number of distinct label sets."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch

from crbm import training
from crbm.estimators.hashed_cases import HashedCases, SetTable
from crbm.hashing.packed_sets import PackedSets
from crbm.hashing.ragged import Groups, Ragged
from crbm.models import CRBM
from crbm.objectives import CandidateLikelihood

N_LABELS, N_INPUTS, N_HIDDEN = 1000, 64, 64
N_CANDIDATES, N_CASES, BATCH = 64, 512, 32
ROUNDS = 5
ROWS_AT_ONCE = 10_000


def rows(
    echo: Callable[[str], None], sizes: tuple[int, ...] = (100_000, 1_000_000)
) -> list[dict[str, Any]]:
    """One row per number of label sets; the sizes are timed in turns."""
    works, tables = [], []
    for size in sizes:
        echo(f"{size} label sets ...")
        tables.append(random_table(size))
        works.append(_epochs(tables[-1]))
        works[-1]()
    times = [[_seconds(work) for work in works] for _ in range(ROUNDS)]
    n_updates = N_CASES // BATCH
    return [
        {
            "label sets": len(table),
            "labels": N_LABELS,
            "table MB": table.n_bytes / 1e6,
            "as float32 MB": table.n_dense_bytes / 1e6,
            "candidates": N_CANDIDATES,
            "ms per update": 1000 * median(own) / n_updates,
        }
        for table, own in zip(tables, zip(*times, strict=True), strict=True)
    ]


def random_table(n_sets: int) -> PackedSets:
    """Random label sets, added as `partial_fit` adds them."""
    from crbm.hashing.outputs import pack_rows

    rng, table = np.random.default_rng(0), PackedSets.empty(N_LABELS)
    for start in range(0, n_sets, ROWS_AT_ONCE):
        n_rows = min(ROWS_AT_ONCE, n_sets - start)
        new = rng.random((n_rows, N_LABELS), dtype=np.float32) < 0.05
        table, _ = table.extended(pack_rows(new))
    return table


def _epochs(table: PackedSets) -> Callable[[], object]:
    """An epoch of candidate likelihood with random candidates."""
    generator, rng = torch.Generator().manual_seed(0), np.random.default_rng(0)
    ids = np.sort(rng.integers(len(table), size=(N_CASES, N_CANDIDATES)), 1)
    ends = np.arange(N_CASES + 1) * N_CANDIDATES
    groups = Groups(np.arange(N_CASES), Ragged(ends, ids.astype(np.int32).ravel()))
    u = torch.randn(N_CASES, N_INPUTS, generator=generator)
    sets = SetTable(table, None, torch.float32)
    cases = HashedCases(u, table.rows(ids[:, 0]), None, sets, groups)
    model = CRBM(N_INPUTS, N_LABELS, N_HIDDEN, generator)
    return lambda: training.fit(
        model,
        CandidateLikelihood(),
        cases,
        n_epochs=1,
        batch_size=BATCH,
        learning_rate=2**-8,
        generator=generator,
        n_threads=1,
        progress=False,
    )


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
