"""A user's mistake ends a command with one clear line and exit code 2."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer
from typer.core import TyperGroup

MISTAKES = (ValueError, TypeError, OSError, ImportError, KeyError)
TOO_LARGE = (
    "There is not enough memory for this. Make the model smaller, e.g. `n_hidden`, or "
    "read fewer rows at a time."
)
UsageError: Any = typer.BadParameter.__base__  # typer does not export it


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, with errors and warnings told in a line each."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _in_a_line
                return command(*args, **kwargs)
        except BrokenPipeError:
            raise  # the reader of a pipe has had enough: no mistake
        except KeyboardInterrupt as error:
            say(str(error) or "stopped.")
            raise typer.Exit(130) from error
        except MISTAKES as error:
            say(_told(error) or type(error).__name__)
            raise typer.Exit(2) from error
        except (MemoryError, RuntimeError) as error:
            if not (isinstance(error, MemoryError) or "memory" in str(error)):
                raise
            say(TOO_LARGE)
            raise typer.Exit(2) from error

    return run


class PlainGroup(TyperGroup):
    """Commands whose wrong use is told in a line too, instead of a framed page."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and end the process, unless not `standalone_mode`."""
        if not options.pop("standalone_mode", True):
            return self._returning(*args, **options)
        try:
            sys.exit(self._returning(*args, **options))
        except UsageError as error:
            if type(error).__name__ != "NoArgsIsHelpError":  # help was printed then
                place = error.ctx.command_path if error.ctx else "crbm"
                problem = error.format_message().replace("Value error, ", "")
                say(f"{problem} See `{place} --help`.")
            sys.exit(2)

    def _returning(self, *args: Any, **options: Any) -> Any:
        options["standalone_mode"] = False
        return super().main(*args, **options)


def say(text: str) -> None:
    """Tell the user one line."""
    typer.echo(f"crbm: {' '.join(text.split())}", err=True)


def _in_a_line(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")


def _told(error: Exception) -> str:
    """What went wrong; the system's own words with the file they are about."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"`{error.filename}`: {error.strerror}. Choose another place."
    return str(error)
