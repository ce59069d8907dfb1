"""How far a run is: a bar on a terminal, a line per epoch elsewhere if asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from crbm.training.run import Run

# Runs that end sooner are not worth a bar, and the eye needs no more refreshes.
SECONDS_BEFORE, SECONDS_BETWEEN = 1.0, 0.2


class Bar:
    """The hook that draws a bar on a terminal, for runs of more than a moment."""

    def __init__(self, run: Run, n_epochs: int, console: Console) -> None:
        self.pace = Pace(run, n_epochs)
        columns = BarColumn(bar_width=20), TextColumn("{task.description}")
        self.display = Progress(
            *columns, console=console, auto_refresh=False, transient=True
        )
        self.task = self.display.add_task("", total=n_epochs)
        self.due = time.monotonic() + SECONDS_BEFORE

    def after_update(self, run: Run) -> None:
        if time.monotonic() < self.due:
            return
        self.display.start()
        done, text = self.pace.epochs_done(run), self.pace.line(run)
        self.display.update(self.task, completed=done, description=text, refresh=True)
        self.due = time.monotonic() + SECONDS_BETWEEN

    def after_epoch(self, run: Run) -> None:
        self.after_update(run)


class Lines:
    """The hook that prints a line after each epoch."""

    def __init__(self, run: Run, n_epochs: int, console: Console) -> None:
        self.pace, self.console = Pace(run, n_epochs), console

    def after_update(self, run: Run) -> None:
        pass

    def after_epoch(self, run: Run) -> None:
        self.console.print(self.pace.line(run), highlight=False, soft_wrap=True)


class Pace:
    """How fast a run goes since it was started or resumed, and when it will end."""

    def __init__(self, run: Run, n_epochs: int) -> None:
        self.n_epochs = n_epochs
        self.first, self.n_before = run.n_epochs, run.n_seen
        self.began = time.monotonic()

    def epochs_done(self, run: Run) -> float:
        """Finished epochs, and the finished share of the present one where known."""
        return run.n_epochs + (run.n_seen / run.n_cases if run.n_cases else 0.0)

    def line(self, run: Run) -> str:
        """Epoch, loss gap, validation error, examples per second and time left."""
        seconds = max(time.monotonic() - self.began, 1e-9)
        n_cases = run.n_cases or 0
        n_new = (run.n_epochs - self.first) * n_cases + run.n_seen - self.n_before
        n_left = (self.n_epochs - run.n_epochs) * n_cases - run.n_seen
        parts = [f"epoch {self._place(run)}/{self.n_epochs}", f"gap {run.gap:.4g}"]
        if run.n_epochs and run.history.validation[-1] is not None:
            parts.append(f"validation error {run.history.validation[-1]:.4g}")
        parts.append(f"{n_new / seconds:,.0f} examples/s")
        if run.n_cases and n_new:
            left = timedelta(seconds=round(n_left * seconds / n_new))
            parts.append(f"{left} left")
        return "  ".join(parts)

    def _place(self, run: Run) -> int:
        """The present epoch while it runs, the last one when it has just ended."""
        return run.n_epochs + (1 if run.n_seen else 0)


@contextmanager
def shown(run: Run, n_epochs: int, wanted: bool | None) -> Iterator[list[Bar | Lines]]:
    """A block in which the run is shown on stderr.

    Parameters
    ----------
    run, n_epochs
        What runs, and how long at most.
    wanted
        None shows a bar on a terminal only; True prints a line per epoch elsewhere.
    """
    console = Console(stderr=True)
    if wanted is False or not (wanted or console.is_terminal):
        yield []
        return
    if not console.is_terminal:
        yield [Lines(run, n_epochs, console)]
        return
    bar = Bar(run, n_epochs, console)
    try:
        yield [bar]
    finally:
        bar.display.stop()
