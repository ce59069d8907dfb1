"""A user's mistake ends a command with one clear line and exit code 2."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

MISTAKES = (ValueError, TypeError, OSError, ImportError, KeyError)


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, with its errors told in a line instead of a traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except MISTAKES as error:
            line = " ".join(str(error).split())
            typer.echo(f"crbm: {line or type(error).__name__}", err=True)
            raise typer.Exit(2) from error

    return run
