"""HTTP connections that end when the other side is too slow or sends endless headers.

uvicorn closes connections that are idle between requests. It has no limit for those
that are in the middle of one.
"""

from __future__ import annotations

import json
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crbm.web.headers import RAW_HEADERS

HEAD_SECONDS = 10.0
BODY_SECONDS = 20.0
# A body, or an answer that is being sent, gets one more second per so many bytes.
SLOWEST_RATE = 16 * 2**10
LARGEST_HEAD = 64 * 2**10


class LimitedProtocol(HttpToolsProtocol):
    """An HTTP connection with limits on time and on the size of headers.

    While the server waits for the client a timer runs: for the headers, for the body,
    and for the client to read an answer.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._reading = Timer(self.loop, self._slow_sender)
        self._writing = Timer(self.loop, self._slow_reader)
        self._n_head = 0  # bytes that came and are not part of a body
        self._in_request = False

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first headers."""
        super().connection_made(transport)
        self._reading.start(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._reading.stop()
        self._writing.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, and refuse headers without end."""
        if not self._reading.is_running:
            self._reading.start(HEAD_SECONDS)
        self._n_head += len(data)
        super().data_received(data)
        if self._n_head > LARGEST_HEAD:
            limit = f"{LARGEST_HEAD // 2**10} KiB"
            self._refuse(431, f"The headers are larger than {limit}.")

    def on_message_begin(self) -> None:
        """Wait for the headers."""
        super().on_message_begin()
        self._in_request = True
        self._reading.start(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        """Wait for the body."""
        super().on_headers_complete()
        self._n_head = 0
        self._reading.start(BODY_SECONDS)

    def on_body(self, body: bytes) -> None:
        """Give a body that arrives more time."""
        super().on_body(body)
        self._n_head -= len(body)
        self._reading.extend(len(body) / SLOWEST_RATE)

    def on_message_complete(self) -> None:
        """Stop waiting for the client; the server has to answer."""
        super().on_message_complete()
        self._n_head, self._in_request = 0, False
        if self.cycle.response_complete:  # it was answered before all of it came
            self._reading.start(float(self.timeout_keep_alive))
        else:
            self._reading.stop()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(400, msg)

    def pause_writing(self) -> None:
        """Start to wait for the client to read."""
        super().pause_writing()
        waiting = self.transport.get_write_buffer_size()
        self._writing.start(BODY_SECONDS + waiting / SLOWEST_RATE)

    def resume_writing(self) -> None:
        """Stop waiting for the client to read."""
        super().resume_writing()
        self._writing.stop()

    def _slow_sender(self) -> None:
        if self._is_answering() or self.flow.read_paused:
            self._reading.start(HEAD_SECONDS)
        elif not self._in_request:
            self.transport.close()  # opened in advance, or not used any more
        else:
            self._refuse(408, "The request arrived too slowly.")

    def _slow_reader(self) -> None:
        self.transport.abort()

    def _is_answering(self) -> bool:
        """Whether a whole request waits for its answer, or an answer has begun."""
        latest = self.cycle
        if latest is None or latest.response_complete:
            return False
        return bool(self.pipeline) or not latest.more_body or latest.response_started

    def _refuse(self, status: int, detail: str) -> None:
        """Answer if no other answer is on its way, and close the connection."""
        if self.transport.is_closing():
            return
        if not self._is_answering():
            self.transport.write(_answer(status, detail))
        self.transport.close()


class Timer:
    """Calls a function after some time unless it is stopped or given more time."""

    def __init__(self, loop: AbstractEventLoop, call: Callable[[], None]) -> None:
        self._loop, self._call = loop, call
        self._handle: TimerHandle | None = None
        self._due = 0.0

    @property
    def is_running(self) -> bool:
        """Whether the function is going to be called."""
        return self._handle is not None

    def start(self, seconds: float) -> None:
        """Call the function in so many seconds, and not at an earlier time."""
        self.stop()
        self._due = self._loop.time() + seconds
        self._handle = self._loop.call_later(seconds, self._fire)

    def extend(self, seconds: float) -> None:
        """Call it so much later."""
        self._due += seconds

    def stop(self) -> None:
        """Do not call the function."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fire(self) -> None:
        self._handle = None
        left = self._due - self._loop.time()
        if left > 0:
            self._handle = self._loop.call_later(left, self._fire)
        else:
            self._call()


def _answer(status: int, detail: str) -> bytes:
    body = json.dumps({"detail": detail}).encode()
    headers = (
        *RAW_HEADERS,
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    )
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", body])
