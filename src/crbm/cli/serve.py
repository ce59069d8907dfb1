"""`crbm serve`: models over HTTP, and a page to try them on."""

from __future__ import annotations

import json
import socket
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from crbm.cli.errors import plain_errors


@plain_errors
def serve(
    models: Annotated[list[Path], typer.Argument(help="Model files (.safetensors).")],
    host: Annotated[
        str, typer.Option(help="Address to listen at; 0.0.0.0 for all of the network.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")
    ] = 8000,
    threads: Annotated[
        int, typer.Option(min=1, help="Threads of one computation.")
    ] = 1,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Tell the address as JSON, for scripts.")
    ] = False,
) -> None:
    """Serve models over HTTP, with a page to try them on."""
    try:
        import uvicorn

        from crbm import web
    except ImportError as error:
        raise ImportError(
            f"`crbm serve` needs {error.name}; pip install 'crbm[web]'."
        ) from error
    import torch

    torch.set_num_threads(threads)
    loaded = web.load_models(models)
    listening = _listen(host, port)
    url = _url(host, listening)
    _announce(url, list(loaded), as_json)
    if open_page:
        webbrowser.open(url)
    config = uvicorn.Config(
        web.create_app(loaded), log_level="warning", timeout_keep_alive=60
    )
    uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens already: whoever is told the address may use it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise OSError(
            f"Cannot listen at {host}, port {port}: {error.strerror or error}. "
            "Choose another with --port or --host."
        ) from error


def _url(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _announce(url: str, names: list[str], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"url": url, "models": names}))
        return
    typer.echo(f"{url}  the page to try {', '.join(names)} on")
    typer.echo(f"{url}/openapi.json  the API    {url}/metrics  for Prometheus")
    typer.echo("Ctrl+C stops the server.")
