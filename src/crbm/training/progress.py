"""Show the progress of a run: a bar on a terminal, or a line per epoch."""

from __future__ import annotations

import time
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress as Display, TextColumn

from crbm.training.hooks import Hook
from crbm.training.run import Run

# Shorter runs need no bar, and a bar needs no more refreshes.
SECONDS_BEFORE, SECONDS_BETWEEN = 1.0, 0.2


class Progress(Hook):
    """Shows epoch, loss, validation error, speed and the time left on stderr.

    Parameters
    ----------
    show
        None shows a bar on a terminal only; True prints a line per epoch elsewhere;
        False shows nothing.
    """

    priority = 2

    def __init__(self, show: bool | None = None) -> None:
        self.show = show
        self._display: _Bar | _Lines | None = None

    def start(self, run: Run) -> None:
        console = Console(stderr=True)
        if self.show is False or not (self.show or console.is_terminal):
            self._display = None
        elif console.is_terminal:
            self._display = _Bar(run, console)
        else:
            self._display = _Lines(run, console)

    def after_update(self, run: Run) -> None:
        if self._display is not None:
            self._display.after_update(run)

    def after_epoch(self, run: Run) -> None:
        if self._display is not None:
            self._display.after_epoch(run)

    def close(self) -> None:
        if isinstance(self._display, _Bar):
            self._display.display.stop()


class _Bar:
    """Draws a bar on a terminal, for runs of more than a moment."""

    def __init__(self, run: Run, console: Console) -> None:
        self.pace = Pace(run)
        columns = BarColumn(bar_width=20), TextColumn("{task.description}")
        self.display = Display(
            *columns, console=console, auto_refresh=False, transient=True
        )
        self.task = self.display.add_task("", total=run.n_epochs_total)
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


class _Lines:
    """Prints a line after each epoch."""

    def __init__(self, run: Run, console: Console) -> None:
        self.pace, self.console = Pace(run), console

    def after_update(self, run: Run) -> None:
        pass

    def after_epoch(self, run: Run) -> None:
        self.console.print(self.pace.line(run), highlight=False, soft_wrap=True)


class Pace:
    """The speed of a run since it was started or resumed, and the time left."""

    def __init__(self, run: Run) -> None:
        self.first, self.n_before = run.n_epochs, run.n_seen
        self.began = time.monotonic()

    def epochs_done(self, run: Run) -> float:
        """Finished epochs, and the finished share of the present one where known."""
        return run.n_epochs + (run.n_seen / run.n_cases if run.n_cases else 0.0)

    def line(self, run: Run) -> str:
        """Epoch, loss, validation error, cases per second and time left."""
        seconds = max(time.monotonic() - self.began, 1e-9)
        n_cases = run.n_cases or 0
        n_new = (run.n_epochs - self.first) * n_cases + run.n_seen - self.n_before
        n_left = (run.n_epochs_total - run.n_epochs) * n_cases - run.n_seen
        parts = [
            f"epoch {_place(run)}/{run.n_epochs_total}",
            f"loss {run.mean_loss:.4g}",
        ]
        if run.n_epochs and run.history.validation[-1] is not None:
            parts.append(f"validation error {run.history.validation[-1]:.4g}")
        parts.append(f"{n_new / seconds:,.0f} cases/s")
        if run.n_cases and n_new:
            left = timedelta(seconds=round(n_left * seconds / n_new))
            parts.append(f"{left} left")
        return "  ".join(parts)


def _place(run: Run) -> int:
    """The present epoch while it runs, the last one when it has just ended."""
    return run.n_epochs + (1 if run.n_seen else 0)
