"""Run the HTTP server on a socket of its own."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
import uvicorn

from crbm.web.app import create_app
from crbm.web.models import load_models


def run(
    paths: Iterable[Path],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    n_threads: int = 1,
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
    announce
        Called with the URL and the names of the models as soon as clients can connect.
    """
    torch.set_num_threads(n_threads)
    models = load_models(paths)
    listener = listen(host, port)
    announce(server_url(host, listener), list(models))
    app = create_app(models)
    config = uvicorn.Config(app, log_level="warning", timeout_keep_alive=60)
    uvicorn.Server(config).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket, so that clients can connect before the server starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise OSError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}. "
            "Choose another with --port or --host."
        ) from error


def server_url(host: str, listener: socket.socket) -> str:
    """The URL of a server on a listening socket."""
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
