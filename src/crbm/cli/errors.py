"""Report a user's mistake in one line and exit with code 2."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer
from typer.core import TyperGroup

from crbm.messages import one_line

MISTAKES = (ValueError, TypeError, OSError, ImportError, KeyError)
TOO_LARGE = (
    "There is not enough memory. Make the model smaller, e.g. with `--set "
    "n_hidden=64`, or use fewer rows."
)
UsageError: Any = typer.BadParameter.__base__  # typer does not export it


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Make a command print each error and each warning as one line."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _print_warning
                return command(*args, **kwargs)
        except BrokenPipeError:
            raise  # the reader of a pipe closed it, which is not an error
        except KeyboardInterrupt as error:
            say(str(error) or "stopped.")
            raise typer.Exit(130) from error
        except MISTAKES as error:
            say(_message(error) or type(error).__name__)
            raise typer.Exit(2) from error
        except (MemoryError, RuntimeError) as error:
            if not (isinstance(error, MemoryError) or "memory" in str(error)):
                raise
            say(TOO_LARGE)
            raise typer.Exit(2) from error

    return run


class PlainGroup(TyperGroup):
    """A group of commands that prints a usage error as one line, without a frame."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and, in `standalone_mode`, exit."""
        if not options.pop("standalone_mode", True):
            return self._run_without_exit(*args, **options)
        try:
            sys.exit(self._run_without_exit(*args, **options))
        except UsageError as error:
            if type(error).__name__ != "NoArgsIsHelpError":  # which prints the help
                place = error.ctx.command_path if error.ctx else "crbm"
                problem = error.format_message().replace("Value error, ", "")
                say(f"{problem} See `{place} --help`.")
            sys.exit(2)

    def _run_without_exit(self, *args: Any, **options: Any) -> Any:
        options["standalone_mode"] = False
        return super().main(*args, **options)


def say(text: str) -> None:
    """Print one line to stderr."""
    typer.echo(f"crbm: {one_line(text)}", err=True)


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")


def _message(error: Exception) -> str:
    """The text of an error; for errors of the system, with the file name."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"`{error.filename}`: {error.strerror}. Choose another place."
    return str(error)
