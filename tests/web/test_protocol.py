"""Connections that stall are closed; slow but steady ones and busy ones are not."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager, suppress

import pytest
import uvicorn
from uvicorn.server import ServerState

from crbm.web import protocol, serving

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"


@pytest.fixture(autouse=True)
def short_times(monkeypatch):
    """Limits of a fraction of a second."""
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.15)
    monkeypatch.setattr(protocol, "BODY_SECONDS", 0.15)


class Echo:
    """Answers with the number of bytes of the body, after some time."""

    def __init__(self, seconds=0.0, answer=b""):
        self.seconds, self.answer, self.seen = seconds, answer, []

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return
        n_bytes, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.seen.append("disconnect")
                return
            n_bytes += len(message["body"])
            more = message["more_body"]
        await asyncio.sleep(self.seconds)
        body = self.answer or str(n_bytes).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        self.seen.append(n_bytes)


@asynccontextmanager
async def connected(app):
    """A socket to a server of this protocol in this event loop, and its connections."""
    config, state = serving.configuration(app), ServerState()
    config.load()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: protocol.LimitedProtocol(config, state, {}), "127.0.0.1", 0
    )
    with socket.socket() as client:
        client.setblocking(False)
        await loop.sock_connect(client, server.sockets[0].getsockname())
        yield client, state.connections
    server.close()
    await asyncio.gather(*state.tasks)


async def send(client, pieces, pause):
    """Send pieces with pauses between, until the other side has closed."""
    with suppress(OSError):
        for piece in pieces:
            await asyncio.get_running_loop().sock_sendall(client, piece)
            await asyncio.sleep(pause)


def answer_to(*pieces, app=None, pause=0.0):
    """All that the server sends until it closes."""

    async def talk():
        async with connected(app or Echo()) as (client, _):
            await send(client, pieces, pause)
            answer = b""
            while more := await asyncio.get_running_loop().sock_recv(client, 2**16):
                answer += more
            return answer

    return asyncio.run(asyncio.wait_for(talk(), 20))


def status(answer):
    return int(answer.split(b" ", 2)[1])


def test_headers_that_do_not_end_are_refused():
    answer = answer_to(GET[:20])
    assert status(answer) == 408
    assert b"x-content-type-options: nosniff" in answer
    body = answer.partition(b"\r\n\r\n")[2]
    assert json.loads(body) == {"detail": "The request arrived too slowly."}


def test_headers_that_trickle_are_refused():
    assert status(answer_to(*(bytes([b]) for b in GET[:12]), pause=0.02)) == 408


def test_a_body_that_does_not_end_is_refused_and_the_application_told():
    app = Echo()
    assert status(answer_to(POST % 100 + b"half", app=app)) == 408
    assert app.seen == ["disconnect"]


def test_a_body_that_trickles_is_refused():
    assert status(answer_to(POST % 100, *[b"x"] * 20, pause=0.02)) == 408


def test_a_body_that_keeps_coming_gets_more_time(monkeypatch):
    monkeypatch.setattr(protocol, "SLOWEST_RATE", 1)
    last = POST.replace(b"Host", b"Connection: close\r\nHost")
    answer = answer_to(last % 20 + b"x", *[b"x"] * 19, pause=0.02)
    assert status(answer) == 200
    assert answer.endswith(b"\r\n\r\n20")


def test_a_connection_that_is_never_used_is_closed_without_a_word():
    assert answer_to() == b""


def test_empty_lines_do_not_keep_a_connection_open():
    answer = answer_to(GET, b"\r\n", b"\r\n", pause=0.02)
    assert status(answer) == 200
    assert answer.count(b"HTTP/1.1") == 1


def test_a_connection_answered_before_its_body_came_does_not_stay(monkeypatch):
    monkeypatch.setattr(serving, "KEEP_ALIVE_SECONDS", 0.2)
    monkeypatch.setattr(protocol, "BODY_SECONDS", 60.0)

    async def refuse(scope, receive, send):
        headers = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body"})

    answer = answer_to(POST % 4, b"body", app=refuse, pause=0.05)
    assert status(answer) == 401
    assert answer.count(b"HTTP/1.1") == 1


def test_a_slow_answer_is_waited_for():
    app = Echo(seconds=0.5)
    # the second request has begun while the first one is answered
    answer = answer_to(GET + GET[:10], app=app)
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 408" in answer


def test_headers_without_end_are_refused(monkeypatch):
    monkeypatch.setattr(protocol, "LARGEST_HEAD", 1000)
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 5.0)
    answer = answer_to(GET[:16] + b"X: " + b"y" * 2000)
    assert status(answer) == 431


def test_a_large_body_is_no_large_header(monkeypatch):
    monkeypatch.setattr(protocol, "LARGEST_HEAD", 1000)
    monkeypatch.setattr(protocol, "BODY_SECONDS", 5.0)
    last = POST.replace(b"Host", b"Connection: close\r\nHost")
    answer = answer_to(last % 9000, *[b"x" * 3000] * 3, pause=0.01)
    assert answer.endswith(b"\r\n\r\n9000")


def test_trailers_without_end_are_refused(monkeypatch):
    monkeypatch.setattr(protocol, "LARGEST_HEAD", 1000)
    monkeypatch.setattr(protocol, "BODY_SECONDS", 5.0)
    chunked = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    answer = answer_to(chunked, b"X: " + b"y" * 2000, pause=0.02)
    assert status(answer) == 431


def test_what_is_not_http_is_refused_with_the_security_headers():
    answer = answer_to(b"nonsense\r\n\r\n")
    assert status(answer) == 400
    assert b"content-security-policy" in answer


def test_a_client_that_does_not_read_its_answer_is_cut_off(monkeypatch):
    monkeypatch.setattr(protocol, "SLOWEST_RATE", 2**40)

    async def talk():
        async with connected(Echo(answer=b"x" * 2**25)) as (client, connections):
            await send(client, [GET], pause=0.02)
            assert connections
            while connections:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(talk(), 20))


def test_a_client_stuck_in_its_body_does_not_hold_up_the_end(monkeypatch):
    monkeypatch.setattr(serving, "GRACE_SECONDS", 0)

    async def talk():
        server = uvicorn.Server(serving.configuration(Echo()))
        listener = serving.listen("127.0.0.1", 0)
        running = asyncio.create_task(server._serve([listener]))
        _, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(POST % 100)
        await asyncio.sleep(0.05)
        server.should_exit = True
        await running
        writer.close()

    monkeypatch.setattr(protocol, "BODY_SECONDS", 60.0)
    asyncio.run(asyncio.wait_for(talk(), 15))
