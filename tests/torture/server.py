"""Mix hostile requests with good ones, and let clients die in the middle."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import random
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from PIL import Image

from torture.mutations import VALUES, mutate
from torture.tally import Tally

SECONDS = 30.0  # for one answer
ROUTES = ("predict", "predict-batch", "top-k", "trajectory", "predict-array")
PIXELS, IMAGE_ROUTE = "pixels", "label-image"  # a model that only hostile requests ask
HTTP = [
    b"nonsense\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /static/%2e%2e/app.py HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /api/models HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"DELETE /api/models HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /api/models/x/predict HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: -1\r\n\r\n",
    b"POST /api/models/x/predict HTTP/1.1\r\nHost: localhost\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
    b"GET /\xff\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


class Attack:
    """Sends requests of both kinds to a server, over several connections.

    Parameters
    ----------
    url
        The server.
    predict
        For each model by name: an input, and the probabilities it must get.
    """

    def __init__(
        self, url: str, predict: dict[str, list[tuple[list[float], np.ndarray]]]
    ) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname, parts.port
        self.answers = predict
        self.tally = Tally("server, hostile requests")
        self.n_good = 0

    async def run(
        self,
        rng: random.Random,
        *,
        seconds: float,
        n_requests: int | None = None,
        n_clients: int = 8,
        pause: float = 0.0,
    ) -> Tally:
        """Send requests until the time is over, or their number is reached."""
        end = time.monotonic() + seconds
        left = [n_requests]

        def go_on() -> bool:
            if left[0] is not None:
                left[0] -= 1
            return time.monotonic() < end and (left[0] is None or left[0] >= 0)

        seeds = [rng.randrange(2**32) for _ in range(n_clients)]
        await asyncio.gather(
            *(self._client(random.Random(seed), go_on, pause) for seed in seeds)
        )
        return self.tally

    async def _client(
        self, rng: random.Random, go_on: Callable[[], bool], pause: float
    ) -> None:
        connection = None
        while go_on():
            if connection is None:
                connection = await asyncio.open_connection(self.host, self.port)
            if rng.random() < 0.5:
                keep = await self._send_good(connection, rng)
            else:
                keep = await self._send_bad(connection, rng)
            if not keep:
                connection[1].close()
                connection = None
            await asyncio.sleep(pause)
        if connection is not None:
            connection[1].close()

    async def _send_good(self, connection: Any, rng: random.Random) -> bool:
        """Send a good request, which must get the right answer."""
        self.n_good += 1
        self.tally.tried += 1
        name = rng.choice(sorted(self.answers))
        inputs, expected = rng.choice(self.answers[name])
        body = json.dumps({"input": inputs}).encode()
        status, content = await self._exchange(
            connection, self._request(f"/api/models/{name}/predict", body)
        )
        if status != 200:
            self.tally.fail(f"good request: {status} {content!r:.200}", lost=True)
            return False
        found = np.array(json.loads(content)["probabilities"])
        if not np.allclose(found, expected, rtol=0, atol=1e-6):
            self.tally.fail(f"good request: {found} is not {expected}", lost=True)
        return True

    async def _send_bad(self, connection: Any, rng: random.Random) -> bool:
        """Send a hostile request; any answer below 500 will do."""
        self.tally.tried += 1
        how = rng.random()
        if how < 0.02:  # the client dies in the middle
            connection[1].write(self._hostile(rng)[: rng.randint(1, 200)])
            connection[1].transport.abort()
            self.tally.refused += 1
            return False
        request = rng.choice(HTTP) if how < 0.06 else self._hostile(rng)
        status, content = await self._exchange(connection, request)
        if status >= 500 or status == 0:
            self.tally.fail(f"{status} {content!r:.200} to {request!r:.300}")
        elif status >= 400:
            self.tally.refused += 1
        return how >= 0.06 and status != 0

    def _hostile(self, rng: random.Random) -> bytes:
        name = rng.choice(sorted(self.answers))
        inputs, route = rng.choice(self.answers[name])[0], rng.choice(ROUTES)
        kind = "application/json"
        if rng.random() < 0.1:
            name, route = PIXELS, rng.choice([IMAGE_ROUTE, *ROUTES])
        if route == IMAGE_ROUTE:
            body = _hostile_image(rng)
        elif route == "predict-array":
            body, kind = _hostile_array(inputs, rng), "application/x-npy"
        else:
            body = _hostile_body(inputs, route, rng)
        return self._request(f"/api/models/{name}/{route}", body, kind)

    def _request(self, path: str, body: bytes, kind: str = "application/json") -> bytes:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost:{self.port}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    async def _exchange(self, connection: Any, request: bytes) -> tuple[int, bytes]:
        """Status and body of the answer; 0 if there is none."""
        reader, writer = connection
        try:
            return await asyncio.wait_for(_ask(reader, writer, request), SECONDS)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            return 0, repr(error).encode()


async def _ask(reader: Any, writer: Any, request: bytes) -> tuple[int, bytes]:
    with suppress(ConnectionError):  # the answer may come before all is sent
        writer.write(request)
        await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    body = await reader.readexactly(int(length[1]) if length else 0)
    return int(head.split(b" ", 2)[1]), body


def _hostile_body(inputs: list[float], route: str, rng: random.Random) -> bytes:
    """A body with changed bytes, or with a value that no model expects."""
    field = "inputs" if route == "predict-batch" else "input"
    rows = [list(inputs) for _ in range(3)]
    body: dict[str, Any] = {field: rows if field == "inputs" else rows[0]}
    if rng.random() < 0.4:
        return mutate(json.dumps(body).encode(), rng)
    how = rng.randrange(4)
    values = [*VALUES, 1e39, -1e38, 3e38, 1e30, 2049 * [0.0]]
    if how == 0:
        body[field] = rng.choice(values)
    elif how == 1:
        row = rows[rng.randrange(3)] if field == "inputs" else rows[0]
        row[rng.randrange(len(row))] = rng.choice(values)
    elif how == 2:
        body["known"] = rng.choice([*values, {"\ud800": 1}, {"red": 2}, [1, None]])
    else:
        body[rng.choice(["k", "n_steps", "zoo"])] = rng.choice([*values, 10**9, 3])
    return json.dumps(body).encode()


def _hostile_array(inputs: list[float], rng: random.Random) -> bytes:
    """A .npy file with changed bytes, or of numbers that no model expects."""
    row = np.array(inputs)
    if rng.random() < 0.5:
        row[rng.randrange(len(row))] = rng.choice([np.nan, np.inf, 1e39, -1e300])
    file = io.BytesIO()
    with np.errstate(over="ignore", invalid="ignore"):
        values = row.astype(rng.choice(["<f8", ">f4", "<f2", "<i8", "|b1", "<c8"]))
    np.save(file, values)
    content = file.getvalue()
    return content if rng.random() < 0.3 else mutate(content, rng)


def _hostile_image(rng: random.Random) -> bytes:
    """An image with changed bytes, or in a body with a strange value."""
    file = io.BytesIO()
    Image.new(rng.choice(["L", "RGB", "P"]), (6, 5), 90).save(file, "PNG")
    content = file.getvalue() if rng.random() < 0.3 else mutate(file.getvalue(), rng)
    body: dict[str, Any] = {"image": base64.b64encode(content).decode()}
    if rng.random() < 0.5:
        field = rng.choice(["image", "known", "n_samples", "seed", "zoo"])
        body[field] = rng.choice([*VALUES, body["image"], 3])
    return json.dumps(body).encode()
