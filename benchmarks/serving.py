"""Measure `crbm serve` under load: requests for single predictions."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np

from crbm.estimators import CRBMClassifier

N_PIXELS, N_HIDDEN = 784, 256
SECONDS = 10.0
MAX_CONNECTIONS = 256
# Requests per second, sent without waiting for responses; and the number of clients
# that each send the next request when they have a response.
ARRIVALS = (100, 200)
CLIENTS = 32

Send = Callable[[], Awaitable[bool]]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Outcome(NamedTuple):
    """Times of the successful requests, number of failed ones, and total time."""

    milliseconds: list[float]
    n_failed: int
    seconds: float


Load = Callable[[Send], Awaitable[Outcome]]


def rows(echo: Callable[[str], None]) -> list[dict[str, Any]]:
    """Requests per second and their latencies, for each load."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        model().save(path)
        with running_server(path) as url:
            warm_up = partial(closed_loop, n_clients=8, seconds=2.0)
            asyncio.run(_measure(url, warm_up))
            results = []
            for rate in ARRIVALS:
                echo(f"{rate} requests a second for {SECONDS:g} s ...")
                load = partial(open_loop, rate=rate, seconds=SECONDS)
                results.append({"load": f"{rate} arrive a second", **_row(url, load)})
            echo(f"{CLIENTS} clients at once for {SECONDS:g} s ...")
            load = partial(closed_loop, n_clients=CLIENTS, seconds=SECONDS)
            results.append({"load": f"{CLIENTS} clients at once", **_row(url, load)})
            return results


async def open_loop(send: Send, rate: int, seconds: float) -> Outcome:
    """Send requests at fixed times; latencies are counted from these times."""
    start = time.perf_counter()

    async def latency(number: int) -> float | None:
        due = start + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        return 1000 * (time.perf_counter() - due) if await send() else None

    times = await asyncio.gather(*(latency(i) for i in range(int(rate * seconds))))
    good = [ms for ms in times if ms is not None]
    return Outcome(good, len(times) - len(good), time.perf_counter() - start)


async def closed_loop(send: Send, n_clients: int, seconds: float) -> Outcome:
    """Let each client send the next request when it has a response."""
    start = time.perf_counter()
    good: list[float] = []
    failed = [0]

    async def client() -> None:
        while (before := time.perf_counter()) < start + seconds:
            if await send():
                good.append(1000 * (time.perf_counter() - before))
            else:
                failed[0] += 1

    await asyncio.gather(*(client() for _ in range(n_clients)))
    return Outcome(good, failed[0], time.perf_counter() - start)


@contextmanager
def running_server(path: Path) -> Iterator[str]:
    """Run `crbm serve` on a free port; yields its address."""
    command = [sys.executable, "-m", "crbm", "serve", str(path), "--port", "0"]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise OSError("The server did not start; see its messages above.")
            yield json.loads(line)["url"]
        finally:
            process.send_signal(signal.SIGINT)


class Connections:
    """Persistent HTTP connections, each with one request at a time."""

    def __init__(self, url: str, requests: list[bytes]) -> None:
        parts = urlsplit(url)
        self._address = parts.hostname, parts.port
        self._idle: list[Connection] = []
        self._limit = asyncio.Semaphore(MAX_CONNECTIONS)
        self._requests, self._n_sent = requests, 0

    async def send(self) -> bool:
        """Send the next request; returns whether it succeeded."""
        self._n_sent += 1
        request = self._requests[self._n_sent % len(self._requests)]
        async with self._limit:
            reader, writer = await self._connection()
            try:
                status = await asyncio.wait_for(_exchange(reader, writer, request), 30)
            except (OSError, EOFError, TimeoutError):
                writer.close()
                return False
            self._idle.append((reader, writer))
            return status == 200

    async def _connection(self) -> Connection:
        """An idle connection that the server has not closed, or a new one."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(*self._address)

    async def close(self) -> None:
        """Close all connections."""
        for _, writer in self._idle:
            writer.close()
            await writer.wait_closed()


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> int:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    await reader.readexactly(int(length[1]) if length else 0)
    return int(head.split(b" ", 2)[1])


async def _measure(url: str, load: Load) -> Outcome:
    connections = Connections(url, _requests(url))
    try:
        return await load(connections.send)
    finally:
        await connections.close()


def _row(url: str, load: Load) -> dict[str, Any]:
    load_average = os.getloadavg()[0]
    calls_before, cases_before = _batches(url)
    outcome = asyncio.run(_measure(url, load))
    calls, cases = _batches(url)
    p50, p99 = np.percentile(outcome.milliseconds or [np.nan], [50, 99])
    return {
        "answered/s": len(outcome.milliseconds) / outcome.seconds,
        "p50 ms": float(p50),
        "p99 ms": float(p99),
        "failed": outcome.n_failed,
        "cases per call": (cases - cases_before) / max(1, calls - calls_before),
        "load average before": load_average,
    }


def _batches(url: str) -> tuple[float, float]:
    """Number of calls of the model so far, and of their cases."""
    with urlopen(f"{url}/metrics") as response:
        text = response.read().decode()
    matches = [
        re.search(rf"crbm_batch_size_{what}{{.*}} (\S+)", text)
        for what in ("count", "sum")
    ]
    calls, cases = (float(match[1]) if match else 0.0 for match in matches)
    return calls, cases


def _requests(url: str) -> list[bytes]:
    """HTTP requests for predictions of random images, as bytes."""
    rng = np.random.default_rng(0)
    bodies = [
        json.dumps({"input": image.tolist()}).encode()
        for image in (rng.random((64, N_PIXELS)) < 0.15).astype(int)
    ]
    head = (
        "POST /api/models/model/predict HTTP/1.1\r\n"
        f"Host: {urlsplit(url).netloc}\r\nContent-Type: application/json\r\n"
    )
    return [
        f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies
    ]


def model() -> CRBMClassifier:
    """A model with the paper's sizes; its accuracy does not matter here."""
    rng = np.random.default_rng(0)
    images = (rng.random((64, N_PIXELS)) < 0.15).astype(np.float32)
    classifier = CRBMClassifier(
        n_hidden=N_HIDDEN,
        n_epochs=1,
        learning_rate=2**-4,
        preprocessing="none",
        objective="perceptron",
        inference="search",
        random_state=0,
    )
    classifier.fit(images, images)
    return classifier
