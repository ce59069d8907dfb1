"""Run the HTTP server on a socket of its own."""

from __future__ import annotations

import socket
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
import uvicorn
from starlette.types import ASGIApp

from crbm.web.access import check_exposed, host_names
from crbm.web.app import create_app
from crbm.web.models import load_models
from crbm.web.processes import serve_in_processes
from crbm.web.protocol import LimitedProtocol

KEEP_ALIVE_SECONDS = 60
# How long requests that are under way may take when the server is stopped.
GRACE_SECONDS = 10


def run(
    paths: Iterable[Path],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    n_threads: int = 1,
    n_workers: int = 1,
    token: str | None = None,
    allowed_hosts: Iterable[str] = (),
    insecure: bool = False,
    announce: Callable[[str, list[str]], None],
) -> None:
    """Load model files and serve them until interrupted.

    Parameters
    ----------
    paths
        The model files.
    host, port
        Where to listen; port 0 selects a free port.
    n_threads
        Number of threads per prediction.
    n_workers
        Number of processes that answer requests. They share the port and the memory of
        the models; limits, batches and metrics are those of each process.
    token
        What clients have to send as `Authorization: Bearer TOKEN`; None for no check.
        Needed if other machines can connect.
    allowed_hosts
        More names under which clients may address the server, beside `localhost`,
        `host` and addresses.
    insecure
        Whether other machines may connect without a token.
    announce
        Called with the URL and the names of the models as soon as clients can connect.
    """
    address = resolve(host, port)
    check_exposed(address, token, insecure)
    names = host_names(host, address, allowed_hosts)
    torch.set_num_threads(1)  # threads would not survive a fork
    # the API documents the order of the inputs
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    models = load_models(paths)
    listeners = listen_for_each(address, port, n_workers)
    announce(server_url(host, listeners[0]), list(models))
    app = create_app(models, token=token, allowed_hosts=names)

    def serve(worker: int) -> None:
        torch.set_num_threads(n_threads)
        uvicorn.Server(configuration(app)).run(sockets=[listeners[worker]])

    if n_workers == 1:
        serve(0)
    else:
        serve_in_processes(serve, n_workers, grace_seconds=GRACE_SECONDS + 5.0)


def configuration(app: ASGIApp) -> uvicorn.Config:
    """How uvicorn runs the application."""
    return uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        log_level="error",  # a warning per invalid request would fill the log
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def resolve(host: str, port: int) -> str:
    """The address of a host."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise _cannot_listen(host, port, error) from error
    return str(found[0][4][0])


def listen_for_each(address: str, port: int, n_workers: int) -> list[socket.socket]:
    """Open a listening socket per worker on one port.

    Linux spreads connections over them. Of a socket that several workers share, the
    first that wakes may accept all connections, and would have to answer them alone.
    """
    if n_workers == 1 or sys.platform != "linux":
        return [listen(address, port)] * n_workers
    # Sockets that share a port do not notice another server on it; this one does.
    with listen(address, port) as alone:
        port = alone.getsockname()[1]
    return [listen(address, port, shared=True) for _ in range(n_workers)]


def listen(address: str, port: int, *, shared: bool = False) -> socket.socket:
    """Open a listening socket, so that clients can connect before the server starts."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, reuse_port=shared)
    except OSError as error:
        raise _cannot_listen(address, port, error) from error


def _cannot_listen(host: str, port: int, error: OSError) -> OSError:
    return OSError(
        f"Cannot listen on {host}, port {port}: {error.strerror or error}. "
        "Choose another with --port or --host."
    )


def server_url(host: str, listener: socket.socket) -> str:
    """The URL of a server on a listening socket."""
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
