"""`crbm serve` under load: single predictions asked for from another process."""

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
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np

from crbm.estimators import CRBMClassifier

N_PIXELS, N_HIDDEN = 784, 256
SECONDS = 10.0
MOST_CONNECTIONS = 256
# Requests per second that arrive whether or not others were answered, and clients that
# each ask again as soon as they are answered.
ARRIVALS = (100, 200)
CLIENTS = 32

Ask = Callable[[], Awaitable[bool]]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Outcome(NamedTuple):
    """How long each answered request took, how many failed, and the whole time."""

    milliseconds: list[float]
    n_failed: int
    seconds: float


def rows(say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Requests answered per second and their times, for each load."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        _model().save(path)
        with running_server(path) as url:
            asyncio.run(_measure(url, lambda ask: closed_loop(ask, 8, 2.0)))  # warm-up
            found = []
            for rate in ARRIVALS:
                say(f"{rate} requests a second for {SECONDS:g} s ...")
                run = _open(rate)
                found.append({"load": f"{rate} arrive a second", **_row(url, run)})
            say(f"{CLIENTS} clients at once for {SECONDS:g} s ...")
            run = _closed(CLIENTS)
            return [*found, {"load": f"{CLIENTS} clients at once", **_row(url, run)}]


async def open_loop(ask: Ask, rate: int, seconds: float) -> Outcome:
    """Ask at fixed times; a request's time runs from when it was due."""
    start = time.perf_counter()

    async def due(place: int) -> float | None:
        at = start + place / rate
        await asyncio.sleep(max(0.0, at - time.perf_counter()))
        return 1000 * (time.perf_counter() - at) if await ask() else None

    times = await asyncio.gather(*(due(i) for i in range(int(rate * seconds))))
    good = [ms for ms in times if ms is not None]
    return Outcome(good, len(times) - len(good), time.perf_counter() - start)


async def closed_loop(ask: Ask, n_clients: int, seconds: float) -> Outcome:
    """Clients that ask again as soon as they have their answer."""
    start = time.perf_counter()
    good: list[float] = []
    failed = [0]

    async def client() -> None:
        while (before := time.perf_counter()) < start + seconds:
            if await ask():
                good.append(1000 * (time.perf_counter() - before))
            else:
                failed[0] += 1

    await asyncio.gather(*(client() for _ in range(n_clients)))
    return Outcome(good, failed[0], time.perf_counter() - start)


@contextmanager
def running_server(path: Path) -> Iterator[str]:
    """`crbm serve` on a free port, stopped at the end; gives its address."""
    command = [sys.executable, "-m", "crbm", "serve", str(path), "--port", "0"]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise OSError("The server did not start; see what it said above.")
            yield json.loads(line)["url"]
        finally:
            process.send_signal(signal.SIGINT)


class Connections:
    """HTTP connections kept open; one request at a time on each."""

    def __init__(self, url: str, requests: list[bytes]) -> None:
        parts = urlsplit(url)
        self._place = parts.hostname, parts.port
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(MOST_CONNECTIONS)
        self._requests, self._asked = requests, 0

    async def ask(self) -> bool:
        """Whether the next request was answered well."""
        self._asked += 1
        request = self._requests[self._asked % len(self._requests)]
        async with self._free:
            reader, writer = await self._connection()
            try:
                status = await asyncio.wait_for(_exchange(reader, writer, request), 30)
            except (OSError, EOFError, TimeoutError):
                writer.close()
                return False
            self._idle.append((reader, writer))
            return status == 200

    async def _connection(self) -> Connection:
        """One that is idle and that the server has not closed, or a new one."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(*self._place)

    async def close(self) -> None:
        """Close what is open."""
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


async def _measure(url: str, run: Callable[[Ask], Awaitable[Outcome]]) -> Outcome:
    connections = Connections(url, _requests(url))
    try:
        return await run(connections.ask)
    finally:
        await connections.close()


def _open(rate: int) -> Callable[[Ask], Awaitable[Outcome]]:
    return lambda ask: open_loop(ask, rate, SECONDS)


def _closed(n_clients: int) -> Callable[[Ask], Awaitable[Outcome]]:
    return lambda ask: closed_loop(ask, n_clients, SECONDS)


def _row(url: str, run: Callable[[Ask], Awaitable[Outcome]]) -> dict[str, Any]:
    busy = os.getloadavg()[0]
    calls_before, cases_before = _batches(url)
    outcome = asyncio.run(_measure(url, run))
    calls, cases = _batches(url)
    p50, p99 = np.percentile(outcome.milliseconds or [np.nan], [50, 99])
    return {
        "answered/s": len(outcome.milliseconds) / outcome.seconds,
        "p50 ms": float(p50),
        "p99 ms": float(p99),
        "failed": outcome.n_failed,
        "cases per call": (cases - cases_before) / max(1, calls - calls_before),
        "load average before": busy,
    }


def _batches(url: str) -> tuple[float, float]:
    """Calls of the model so far, and cases in them."""
    with urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    found = [
        re.search(rf"crbm_batch_size_{what}{{.*}} (\S+)", text)
        for what in ("count", "sum")
    ]
    calls, cases = (float(match[1]) if match else 0.0 for match in found)
    return calls, cases


def _requests(url: str) -> list[bytes]:
    """Requests for different random images, as bytes."""
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


def _model() -> CRBMClassifier:
    """A model of the paper's size; how well it predicts does not matter here."""
    rng = np.random.default_rng(0)
    images = (rng.random((64, N_PIXELS)) < 0.15).astype(np.float32)
    classifier = CRBMClassifier(
        n_hidden=N_HIDDEN, n_epochs=1, inference="search", random_state=0
    )
    classifier.fit(images, images)
    return classifier
