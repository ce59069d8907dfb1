"""Load a server for a long time with good and hostile requests and dying clients."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from torture import running
from torture.server import Attack
from torture.tally import Tally

WARM_UP = 1 / 6  # of the time; memory is compared after it
CLIENTS, PAUSE = 8, 0.15  # about 50 requests a second


def run(seconds: float, rng: random.Random) -> tuple[Tally, dict[str, Any]]:
    """Load `crbm serve`; returns the tally, and the growth of its memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        answers = running.save_models(folder)
        with running.server_process(folder) as (url, pid):
            attack = Attack(url, answers)
            samples: list[tuple[float, float]] = []
            killed: list[int] = []
            watching = _watch(pid, seconds, samples)
            killing = _kill(attack, seconds, killed)
            load = attack.run(rng, seconds=seconds, n_clients=CLIENTS, pause=PAUSE)
            asyncio.run(load)
            for thread in (watching, killing):
                thread.join()
    tally = attack.tally
    tally.area = "server, soak"
    before, after = _compare(samples, seconds)
    details = {
        "good": attack.n_good,
        "killed_clients": killed[0],
        "megabytes_after_warm_up": round(before, 1),
        "megabytes_at_end": round(after, 1),
        "growth_percent": round(100 * (after / before - 1), 2),
    }
    return tally, details


def _watch(
    pid: int, seconds: float, samples: list[tuple[float, float]]
) -> threading.Thread:
    """Note the memory of a process again and again, in a thread."""

    def watch() -> None:
        start = time.monotonic()
        while (now := time.monotonic() - start) < seconds:
            samples.append((now, running.resident_megabytes(pid)))
            time.sleep(min(5.0, seconds / 50))

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def _kill(attack: Attack, seconds: float, killed: list[int]) -> threading.Thread:
    """Start and kill clients all the time, in a thread."""
    name = sorted(attack.answers)[0]
    body = json.dumps({"input": attack.answers[name][0][0]}).encode()
    request = attack._request(f"/api/models/{name}/predict", body)
    address = str(attack.host), int(attack.port or 0)

    def kill() -> None:
        killed.append(running.kill_clients(*address, request, seconds))

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def _compare(samples: list[tuple[float, float]], seconds: float) -> tuple[float, float]:
    """Memory after the warm-up and in the end, each the median of some samples."""
    warm = [mb for now, mb in samples if now >= WARM_UP * seconds]
    n_samples = max(1, len(warm) // 10)
    return median(warm[:n_samples]), median(warm[-n_samples:])
