"""A progress bar over images on standard error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn as TimeLeft,
)

Item = TypeVar("Item")
LINES = 10  # that are printed where there is no terminal


def track(
    items: Sequence[Item], doing: str, *, show: bool | None = None
) -> Iterator[Item]:
    """The items, with a bar that shows how many are done.

    Parameters
    ----------
    items
        What to go through.
    doing
        A word before the bar.
    show
        None shows a bar on a terminal only; True prints some lines elsewhere; False
        shows nothing.
    """
    console = Console(stderr=True)
    if show is False or not (show or console.is_terminal):
        yield from items
    elif console.is_terminal:
        yield from _with_bar(items, doing, console)
    else:
        yield from _with_lines(items, doing, console)


def _with_bar(items: Sequence[Item], doing: str, console: Console) -> Iterator[Item]:
    columns = TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeLeft()
    with Progress(*columns, console=console, transient=True) as display:
        task = display.add_task("", total=len(items))
        for item in items:
            yield item
            display.advance(task)


def _with_lines(items: Sequence[Item], doing: str, console: Console) -> Iterator[Item]:
    every = max(1, len(items) // LINES)
    for place, item in enumerate(items, start=1):
        yield item
        if place % every == 0 or place == len(items):
            console.print(f"{doing} {place}/{len(items)}", highlight=False)
