"""Around every request: a limit on its size, and a clock."""

from __future__ import annotations

import time

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crbm.web.metrics import Metrics

LARGEST_BODY = 32 * 2**20


class LimitedBody:
    """Refuses bodies above a limit, announced or not, before they fill the memory."""

    def __init__(self, app: ASGIApp, largest: int = LARGEST_BODY) -> None:
        self._app, self._largest = app, largest
        limit = f"{largest / 2**20:g} MiB"
        self._detail = f"The body is larger than {limit}; send smaller batches."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body counted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self._largest:
            refusal = JSONResponse({"detail": self._detail}, status_code=413)
            await refusal(scope, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._largest:
                raise HTTPException(413, self._detail)
            return message

        await self._app(scope, counted, send)


class Measured:
    """Counts requests and their time by route, not by the paths that people invent."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a clock beside it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 500, time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.request(route, status, time.perf_counter() - start)
