"""Checkpoints: the whole state of a run in one file, so that it can go on later."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from torch import Tensor

from crbm import checks, persistence
from crbm.training.batches import InMemory, Streamed
from crbm.training.interrupts import Interrupted, noted_signals
from crbm.training.run import Run
from crbm.training.settings import differences, settings

KIND = "checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often to keep a run: its weights, optimiser, randomness and place.

    The file is replaced whole, so that at any moment a good one exists, whatever ends
    the process. It is also written when the run ends or is interrupted.

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
    """

    path: str | Path
    every_seconds: float | int | None = 60
    every_epochs: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.every_seconds is not None:
            checks.not_negative("every_seconds", self.every_seconds)
        if self.every_epochs is not None:
            checks.whole_number("every_epochs", self.every_epochs, at_least=1)

    def save(self, run: Run, shared: Mapping[str, Any]) -> None:
        """Write where the run stands."""
        leaves = dict(flattened(run.state()))
        tensors = {k: leaf for k, leaf in leaves.items() if isinstance(leaf, Tensor)}
        plain = {k: leaf for k, leaf in leaves.items() if k not in tensors}
        description = {"kind": KIND, "settings": shared, "plain": plain}
        persistence.write(self.path, tensors, description)

    def load(self, run: Run, shared: Mapping[str, Any], n_epochs: int) -> None:
        """Put the run where the file says it stood."""
        tensors, description = persistence.read(self.path, KIND)
        if description.get("kind") != KIND:
            raise ValueError(f"`{self.path}` is a file of crbm but no checkpoint.")
        try:
            changed = differences(description["settings"], shared)
            state = nested({**description["plain"], **tensors})
            done = len(state["history"]["epochs"])
        except (AttributeError, KeyError, TypeError) as error:
            raise self._damaged(error) from error
        if changed:
            raise ValueError(
                f"`{self.path}` is a checkpoint of another run: {'; '.join(changed)}. "
                "Set it back, or choose another file."
            )
        if done > n_epochs:
            raise ValueError(
                f"`{self.path}` has {done} epochs behind it, more than the "
                f"`n_epochs`={n_epochs} asked for. Raise it, or choose another file."
            )
        try:
            run.restore(state)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> ValueError:
        reason = " ".join(str(error).split())
        return ValueError(
            f"`{self.path}` is not a whole checkpoint: {reason}. Delete it to start "
            "again."
        )


class Keeper:
    """The hook that writes a checkpoint when one is due or the user wants to stop."""

    def __init__(
        self, checkpoint: Checkpoint, shared: Mapping[str, Any], stop: Event
    ) -> None:
        self.checkpoint, self.shared, self.stop = checkpoint, shared, stop
        self.seconds = checkpoint.every_seconds
        self._wait()

    def _wait(self) -> None:
        wait = math.inf if self.seconds is None else self.seconds
        self.due = time.monotonic() + wait

    def after_update(self, run: Run) -> None:
        if self.stop.is_set() or time.monotonic() >= self.due:
            self.save(run)

    def after_epoch(self, run: Run) -> None:
        every = self.checkpoint.every_epochs
        if every is not None and run.n_epochs % every == 0:
            self.save(run)
        else:
            self.after_update(run)

    def save(self, run: Run) -> None:
        """Write the checkpoint; then stop if asked to, or wait for the next."""
        self.checkpoint.save(run, self.shared)
        self._wait()
        if self.stop.is_set():
            raise Interrupted(
                f"Stopped in epoch {run.n_epochs} after {run.n_updates} updates; "
                f"`{self.checkpoint.path}` keeps the run. Start it again with "
                "`resume` to go on."
            )


@contextmanager
def kept(
    run: Run,
    n_epochs: int,
    checkpoint: Checkpoint | None,
    data: InMemory | Streamed,
    options: Mapping[str, Any],
    *,
    resume: bool,
) -> Iterator[list[Keeper]]:
    """A block in which the run is kept; it starts from what was kept if asked to."""
    if checkpoint is None:
        if resume:
            raise ValueError("`resume` needs a `checkpoint` to go on from.")
        yield []
        return
    shared = settings(run, data, {**options, **checkpoint.settings})
    _prepare(Path(checkpoint.path))
    if Path(checkpoint.path).exists():
        if not resume:
            raise FileExistsError(
                f"`{checkpoint.path}` already keeps a run. Go on from it with "
                "`resume`, or delete it to start again."
            )
        checkpoint.load(run, shared, n_epochs)
    with noted_signals() as stop:
        keeper = Keeper(checkpoint, shared, stop)
        yield [keeper]
        keeper.save(run)


def _prepare(path: Path) -> None:
    """Make the folder; clear away what a killed run had begun to write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for draft in path.parent.glob(f"{path.name}*.part"):
        draft.unlink(missing_ok=True)


def flattened(tree: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of dictionaries within dictionaries, each with the path to it.

    Examples
    --------
    >>> dict(flattened({"best": {"epoch": 3, "error": 0.5}, "n": 1}))
    {'best/epoch': 3, 'best/error': 0.5, 'n': 1}
    """
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{above}{key}/")
        else:
            yield f"{above}{key}", value


def nested(leaves: Mapping[str, Any]) -> dict[str, Any]:
    """The dictionaries that `flattened` took apart; empty ones are gone.

    Examples
    --------
    >>> nested({"best/epoch": 3, "best/error": 0.5, "n": 1})
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
