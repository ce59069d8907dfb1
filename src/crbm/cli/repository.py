"""Commands whose code is in the repository but not in the installed library.

`pip install crbm` installs the library alone. A clone of the repository, installed for
development, also has the packages `paper`, `benchmarks` and `demo`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import typer

from crbm.cli.bench import bench
from crbm.cli.demo import demo
from crbm.cli.errors import plain_errors
from crbm.cli.reproduce import reproduce


class Command(NamedTuple):
    """A command, and the module that it calls."""

    function: Callable[..., Any]
    module: str


COMMANDS = {
    "bench": Command(bench, "benchmarks.suites"),
    "reproduce": Command(reproduce, "paper.report.reproduce"),
    "demo": Command(demo, "demo.run"),
}


def add_commands(app: typer.Typer) -> None:
    """Add each command; one whose module is missing is hidden and refuses to run."""
    for name, command in COMMANDS.items():
        if is_importable(command.module):
            app.command(name)(command.function)
        else:
            any_arguments = {"allow_extra_args": True, "ignore_unknown_options": True}
            app.command(
                name,
                hidden=True,
                add_help_option=False,
                context_settings=any_arguments,
            )(_refusal(name, command.module))


def is_importable(module: str) -> bool:
    """Whether a module can be found; it is not imported, only its packages are."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _refusal(name: str, module: str) -> Callable[[], None]:
    package = module.split(".")[0]

    @plain_errors
    def refuse() -> None:
        raise ImportError(
            f"`crbm {name}` needs the package `{package}`, which is only in the "
            "repository. Clone it and install it with `pip install -e '.[dev]'`."
        )

    return refuse
