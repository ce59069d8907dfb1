"""Middleware: limit the size of requests, and count and time them."""

from __future__ import annotations

import time

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crbm.web.metrics import Metrics

LARGEST_BODY = 32 * 2**20
LARGEST_BODIES_AT_ONCE = 4 * LARGEST_BODY
BUSY = "The server is reading too many large requests; try again in a moment."


class LimitedBody:
    """Refuses bodies above a limit, and more bodies at once than fit into memory.

    The limits hold with and without a `Content-Length` header.
    """

    def __init__(
        self,
        app: ASGIApp,
        largest: int = LARGEST_BODY,
        at_once: int = LARGEST_BODIES_AT_ONCE,
    ) -> None:
        self._app, self._largest, self._at_once = app, largest, at_once
        self._n_held = 0  # bytes of all bodies whose requests are not answered yet
        limit = f"{largest / 2**20:g} MiB"
        self._detail = f"The body is larger than {limit}; send smaller batches."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and count the bytes of its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self._largest:
            refusal = JSONResponse({"detail": self._detail}, status_code=413)
            await refusal(scope, receive, send)
            return
        n_bytes = 0

        async def receive_counted() -> Message:
            nonlocal n_bytes
            message = await receive()
            n_new = len(message.get("body", b""))
            n_bytes += n_new
            self._n_held += n_new
            if n_bytes > self._largest:
                raise HTTPException(413, self._detail)
            if self._n_held > self._at_once:
                raise HTTPException(503, BUSY, {"Retry-After": "1"})
            return message

        try:
            await self._app(scope, receive_counted, send)
        finally:
            self._n_held -= n_bytes


class Measured:
    """Counts and times requests by route; unknown paths count as `other`."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, then record its status and time."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 500, time.perf_counter()

        async def send_watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_watched)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.count_request(route, status, time.perf_counter() - start)
