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
        str,
        typer.Option(
            help="Address to listen on; 0.0.0.0 for all interfaces, with a token."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 selects a free one.")
    ] = 8000,
    threads: Annotated[
        int, typer.Option(min=1, help="Number of threads per prediction.")
    ] = 1,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            max=64,
            help="Number of processes that share the port and the models.",
        ),
    ] = 1,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the token that clients have to send; else the variable "
            "CRBM_TOKEN."
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Name under which clients address the server, e.g. behind a proxy. "
            "May be repeated."
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Serve other machines without a token.")
    ] = False,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Serve models over HTTP, with a web page to try them."""
    from crbm.web import access, serving

    token = access.read_token(token_file)

    def announce(url: str, names: list[str]) -> None:
        _print_address(url, names, as_json)
        if token is not None and not as_json:
            typer.echo("Clients need the token; the page asks for it.")
        if open_page:
            webbrowser.open(url)

    serving.run(
        models,
        host=host,
        port=port,
        n_threads=threads,
        n_workers=workers,
        token=token,
        allowed_hosts=allowed_host or (),
        insecure=insecure,
        announce=announce,
    )


def _print_address(url: str, names: list[str], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"url": url, "models": names}))
        return
    typer.echo(f"{url}  web page for {', '.join(names)}")
    typer.echo(f"{url}/docs  API    {url}/metrics  Prometheus metrics")
    typer.echo("Press Ctrl+C to stop the server.")
