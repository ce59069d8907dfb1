"""Load on an HTTP server: clients in this process, as cheap as they can be.

They share the cores with the server, so what they cost counts against it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Outcome(NamedTuple):
    """Times of the successful requests, number of failed ones, and total time."""

    milliseconds: list[float]
    n_failed: int
    seconds: float


def closed_loop(
    url: str, requests: Sequence[bytes], n_clients: int, seconds: float
) -> Outcome:
    """Let each client send the next request when it has a response."""

    async def run() -> Outcome:
        load = _Load(requests)
        await load.connect(url, n_clients)
        start = time.perf_counter()
        for client in load.idle:
            client.send(time.perf_counter())
        load.idle.clear()
        load.repeats = True
        await asyncio.sleep(seconds)
        load.repeats = False
        return await load.outcome(start)

    return _run(run())


def open_loop(
    url: str, requests: Sequence[bytes], n_clients: int, rate: float, seconds: float
) -> Outcome:
    """Send requests at fixed times; latencies are counted from these times."""

    async def run() -> Outcome:
        load = _Load(requests)
        await load.connect(url, n_clients)
        start = time.perf_counter()
        for number in range(int(rate * seconds)):
            due = start + number / rate
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            load.add(due)
        return await load.outcome(start)

    return _run(run())


def _run(work: object) -> Outcome:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)  # type: ignore[arg-type]
    return uvloop.run(work)  # type: ignore[arg-type]


class _Load:
    """What the clients of one load share."""

    def __init__(self, requests: Sequence[bytes]) -> None:
        self.requests, self.n_sent = requests, 0
        self.idle: list[_Client] = []
        self.clients: list[_Client] = []
        self.due: deque[float] = deque()
        self.milliseconds: list[float] = []
        self.n_failed, self.repeats = 0, False

    async def connect(self, url: str, n_clients: int) -> None:
        parts, loop = urlsplit(url), asyncio.get_running_loop()
        assert parts.hostname is not None
        assert parts.port is not None
        for _ in range(n_clients):
            _, client = await loop.create_connection(
                lambda: _Client(self), parts.hostname, parts.port
            )
            self.clients.append(client)
            self.idle.append(client)

    def add(self, due: float) -> None:
        """Have a request sent now, or as soon as a client is idle."""
        if self.idle:
            self.idle.pop().send(due)
        else:
            self.due.append(due)

    def next_request(self) -> bytes:
        self.n_sent += 1
        return self.requests[self.n_sent % len(self.requests)]

    def answered(self, client: _Client, due: float, *, good: bool) -> None:
        now = time.perf_counter()
        if good:
            self.milliseconds.append(1000 * (now - due))
        else:
            self.n_failed += 1
        if self.repeats:
            client.send(now)
        elif self.due:
            client.send(self.due.popleft())
        else:
            self.idle.append(client)

    async def outcome(self, start: float) -> Outcome:
        """The outcome when all responses are there, at most ten seconds later."""
        end = time.perf_counter()
        for _ in range(1000):
            if len(self.idle) == len(self.clients):
                break
            await asyncio.sleep(0.01)
        self.n_failed += len(self.clients) - len(self.idle) + len(self.due)
        await self.close()
        return Outcome(self.milliseconds, self.n_failed, end - start)

    async def close(self) -> None:
        """Close all connections."""
        for client in self.clients:
            client.close()
        await asyncio.sleep(0.05)  # closing takes some turns of the loop


class _Client(asyncio.Protocol):
    """A connection with one request at a time."""

    def __init__(self, load: _Load) -> None:
        self._load, self._received, self._due = load, b"", 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:  # uvloop has its own kind
        self._transport = transport

    def send(self, due: float) -> None:
        assert self._transport is not None
        self._due = due
        self._transport.write(self._load.next_request())

    def data_received(self, data: bytes) -> None:
        received = self._received = self._received + data if self._received else data
        ends = received.find(b"\r\n\r\n")
        if ends < 0:
            return
        length = _LENGTH.search(received, 0, ends)
        assert length is not None
        if len(received) < ends + 4 + int(length[1]):
            return
        self._received = b""
        self._load.answered(self, self._due, good=received[9:12] == b"200")

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()
