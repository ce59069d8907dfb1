"""Time the prediction of a partitioned set with one Dask worker and with two."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.serving import N_PIXELS, model

N_PARTITIONS, PARTITION, ROUNDS = 24, 2048, 3


def rows(echo: Callable[[str], None]) -> list[dict[str, Any]]:
    """Seconds with each number of workers, in turns, and the speed-up."""
    import dask.array as da
    from distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        model().save(path)
        seconds: dict[int, list[float]] = {1: [], 2: []}
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        )
        with cluster, Client(cluster) as client:
            images = da.map_blocks(
                _images,
                chunks=((PARTITION,) * N_PARTITIONS, (N_PIXELS,)),
                dtype=np.float32,
            )
            addresses = list(client.scheduler_info()["workers"])
            for number in range(ROUNDS + 1):
                echo(f"round {number} of {ROUNDS} ...")
                for n_workers in seconds:
                    taken = _seconds(client, path, images, addresses[:n_workers])
                    if number:  # the first loads the model and compiles
                        seconds[n_workers].append(taken)
    ratios = [one / two for one, two in zip(*seconds.values(), strict=True)]
    return [
        {
            "partitions": N_PARTITIONS,
            "cases": N_PARTITIONS * PARTITION,
            "one worker s": median(seconds[1]),
            "two workers s": median(seconds[2]),
            "times faster": median(ratios),
            "all ratios": ratios,
            "load average": os.getloadavg()[0],
        }
    ]


def _seconds(client: Any, path: Path, images: Any, workers: list[str]) -> float:
    """Seconds to predict all partitions and sum up the labels of each."""
    from crbm.dask import predict

    start = time.perf_counter()
    sums = predict(path, images).map_blocks(_sums, chunks=(1, N_PIXELS), dtype=int)
    futures = client.compute(
        [sums.blocks[place] for place in range(N_PARTITIONS)],
        workers=workers,
    )
    client.gather(futures)
    return time.perf_counter() - start


def _images(block_info: Any = None) -> np.ndarray:
    place = block_info[None]["chunk-location"][0]
    rng = np.random.default_rng(place)
    return (rng.random((PARTITION, N_PIXELS)) < 0.15).astype(np.float32)


def _sums(labels: np.ndarray) -> np.ndarray:
    found: np.ndarray = labels.sum(0, keepdims=True)
    return found
