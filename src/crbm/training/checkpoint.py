"""Checkpoints: the whole state of a run in one file, so that it can be resumed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, ClassVar

from torch import Tensor

from crbm import checks, persistence
from crbm.messages import one_line
from crbm.training.hooks import Hook
from crbm.training.interrupts import Interrupted, delayed_signals
from crbm.training.run import Run
from crbm.training.settings import as_plain, describe, differences

KIND = "checkpoint"


@dataclass
class Checkpoint(Hook):
    """Stores a run at intervals: its weights, optimiser, randomness and position.

    The file is replaced whole, so that a good one exists at any moment, whatever ends
    the process. It is also written when the run ends. While it is in use, Ctrl-C and
    SIGTERM store the run once more and raise `Interrupted`.

    Parameters
    ----------
    path
        The file; its folder is made.
    every_seconds, every_epochs
        When to write it: after so much time, also within an epoch, and after so many
        epochs; None never does.
    settings
        Plain data that must be the same when the run is resumed, beyond what `fit`
        compares itself.
    resume
        Whether to continue from the file, bit for bit, where it exists.
    """

    path: str | Path
    every_seconds: float | int | None = 60
    every_epochs: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    resume: bool = False

    priority: ClassVar[int] = 4

    def __post_init__(self) -> None:
        if self.every_seconds is not None:
            checks.not_negative("every_seconds", self.every_seconds)
        if self.every_epochs is not None:
            checks.whole_number("every_epochs", self.every_epochs, at_least=1)

    def start(self, run: Run) -> None:
        self._described = {**describe(run), **as_plain(self.settings)}
        self._signals, self._stop = ExitStack(), Event()
        _prepare(Path(self.path))
        if Path(self.path).exists():
            if not self.resume:
                raise FileExistsError(
                    f"`{self.path}` already holds a run. Continue it with `resume`, or "
                    "delete it to start again."
                )
            self._load(run)
        self._stop = self._signals.enter_context(delayed_signals())
        self._wait()

    def after_update(self, run: Run) -> None:
        if self._stop.is_set() or time.monotonic() >= self._due:
            self._save_or_stop(run)

    def after_epoch(self, run: Run) -> None:
        every = self.every_epochs
        if every is not None and run.n_epochs % every == 0:
            self._save_or_stop(run)
        else:
            self.after_update(run)

    def finish(self, run: Run) -> None:
        self._save_or_stop(run)

    def close(self) -> None:
        if hasattr(self, "_signals"):
            self._signals.close()

    def _wait(self) -> None:
        seconds = math.inf if self.every_seconds is None else self.every_seconds
        self._due = time.monotonic() + seconds

    def _save_or_stop(self, run: Run) -> None:
        """Write the file; then stop if a signal asked for it."""
        self._save(run)
        self._wait()
        if self._stop.is_set():
            raise Interrupted(
                f"Stopped in epoch {run.n_epochs} after {run.n_updates} updates; "
                f"`{self.path}` holds the run. Start it again with `resume` to "
                "continue."
            )

    def _save(self, run: Run) -> None:
        leaves = dict(flatten(run.state()))
        tensors = {k: leaf for k, leaf in leaves.items() if isinstance(leaf, Tensor)}
        plain = {k: leaf for k, leaf in leaves.items() if k not in tensors}
        description = {"kind": KIND, "settings": self._described, "plain": plain}
        persistence.write(self.path, tensors, description)

    def _load(self, run: Run) -> None:
        tensors, description = persistence.read(self.path, KIND)
        if description.get("kind") != KIND:
            raise ValueError(f"`{self.path}` is a file of crbm but no checkpoint.")
        try:
            changed = differences(description["settings"], self._described)
            state = nest({**description["plain"], **tensors})
            n_done = len(state["history"]["epochs"])
        except (AttributeError, KeyError, TypeError) as error:
            raise self._damaged(error) from error
        if changed:
            raise ValueError(
                f"`{self.path}` is a checkpoint of another run: {'; '.join(changed)}. "
                "Set it back, or choose another file."
            )
        if n_done > run.n_epochs_total:
            raise ValueError(
                f"`{self.path}` has {n_done} epochs behind it, more than the "
                f"`n_epochs`={run.n_epochs_total} asked for. Raise it, or choose "
                "another file."
            )
        try:
            run.restore(state)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> ValueError:
        reason = one_line(str(error))
        return ValueError(
            f"`{self.path}` is not a whole checkpoint: {reason}. Delete it to start "
            "again."
        )


def _prepare(path: Path) -> None:
    """Make the folder; remove partial files of a killed run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for draft in path.parent.glob(f"{path.name}*.part"):
        draft.unlink(missing_ok=True)


def flatten(tree: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of dictionaries within dictionaries, each with the path to it.

    Examples
    --------
    >>> dict(flatten({"best": {"epoch": 3, "error": 0.5}, "n": 1}))
    {'best/epoch': 3, 'best/error': 0.5, 'n': 1}
    """
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{above}{key}/")
        else:
            yield f"{above}{key}", value


def nest(leaves: Mapping[str, Any]) -> dict[str, Any]:
    """The dictionaries that `flatten` took apart, without empty ones.

    Examples
    --------
    >>> nest({"best/epoch": 3, "best/error": 0.5, "n": 1})
    {'best': {'epoch': 3, 'error': 0.5}, 'n': 1}
    """
    tree: dict[str, Any] = {}
    for path, leaf in leaves.items():
        *above, key = path.split("/")
        branch = tree
        for step in above:
            branch = branch.setdefault(step, {})
        branch[key] = leaf
    return tree
