"""`crbm serve`: serve models over HTTP, with a web page."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from crbm.cli import options
from crbm.cli.errors import plain_errors


@plain_errors
def serve(
    models: Annotated[list[Path], typer.Argument(help="Model files (.safetensors).")],
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for all interfaces.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 selects a free one.")
    ] = 8000,
    threads: Annotated[
        int, typer.Option(min=1, help="Number of threads per prediction.")
    ] = 1,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Serve models over HTTP, with a web page to try them."""
    from crbm.web import serving

    def announce(url: str, names: list[str]) -> None:
        _print_address(url, names, as_json)
        if open_page:
            webbrowser.open(url)

    serving.run(models, host=host, port=port, n_threads=threads, announce=announce)


def _print_address(url: str, names: list[str], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"url": url, "models": names}))
        return
    typer.echo(f"{url}  web page for {', '.join(names)}")
    typer.echo(f"{url}/openapi.json  API    {url}/metrics  Prometheus metrics")
    typer.echo("Press Ctrl+C to stop the server.")
