"""Checkpoints: the whole state of a run in one file, so that it can be resumed."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, ClassVar

from torch import Tensor

from crbm import checks, paths, persistence
from crbm.messages import one_line
from crbm.training.hooks import Hook
from crbm.training.interrupts import Interrupted, delayed_signals
from crbm.training.locks import file_lock
from crbm.training.run import Run
from crbm.training.settings import as_plain, describe, differences
from crbm.training.stored_state import check_state

KIND = "checkpoint"
# What reading and checking a state that is not whole may raise.
WRONG = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError)


class DamagedError(ValueError):
    """A checkpoint cannot be read; the previous one may be intact."""


@dataclass
class Checkpoint(Hook):
    """Write the state of a run to a file at intervals, and when the run ends.

    The state has the weights, the optimiser, the random generators and the position.
    The file is replaced only by a complete one, so a valid file exists even if the
    process is killed. The previous file is renamed with `.previous` and is used if the
    newer one is damaged. No other run can use the file at the same time. Ctrl-C and
    SIGTERM write the file once more and raise `Interrupted`. If the disk is full, the
    run continues with a warning.

    Parameters
    ----------
    path
        The file; its folder is created.
    every_seconds, every_epochs
        Intervals between two files, in seconds (also within an epoch) and in epochs;
        None for never.
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

    @property
    def previous(self) -> Path:
        """The file before the latest one."""
        path = Path(self.path)
        return path.with_name(f"{path.stem}.previous{path.suffix}")

    def start(self, run: Run) -> None:
        self._described = {**describe(run), **as_plain(self.settings)}
        self._open, self._stop, path = ExitStack(), Event(), Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        paths.check_writable(path, _n_bytes(run))
        lock = path.with_name(f"{path.name}.lock")
        self._open.enter_context(file_lock(lock, f"The checkpoint `{path}`"))
        for draft in paths.drafts(path):  # of a killed run
            draft.unlink(missing_ok=True)
        self._continue(run)
        self._stop = self._open.enter_context(delayed_signals())
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
        if hasattr(self, "_open"):
            self._open.close()

    def _wait(self) -> None:
        seconds = math.inf if self.every_seconds is None else self.every_seconds
        self._due = time.monotonic() + seconds

    def _save_or_stop(self, run: Run) -> None:
        """Write the file; then raise `Interrupted` if there was a signal."""
        failure = self._try_to_save(run)
        self._wait()
        if self._stop.is_set():
            holds = (
                f"`{self.path}` holds the run. Start it again with `resume` to "
                "continue."
            )
            raise Interrupted(
                f"Stopped in epoch {run.n_epochs} after {run.n_updates} updates; "
                f"{failure or holds}"
            )

    def _try_to_save(self, run: Run) -> str | None:
        """Write the file; returns a message if the operating system refuses."""
        try:
            self._save(run)
        except OSError as error:
            failure = (
                f"`{self.path}` could not be written: {error.strerror or error}. The "
                "previous checkpoint, if there is one, is unchanged."
            )
            warnings.warn(f"{failure} Training continues.", RuntimeWarning, 2)
            return failure
        return None

    def _save(self, run: Run) -> None:
        leaves = dict(flatten(run.state()))
        tensors = {k: leaf for k, leaf in leaves.items() if isinstance(leaf, Tensor)}
        plain = {k: leaf for k, leaf in leaves.items() if k not in tensors}
        description = {"kind": KIND, "settings": self._described, "plain": plain}
        _keep(paths.follow(Path(self.path)), self.previous)
        persistence.write(self.path, tensors, description)

    def _continue(self, run: Run) -> None:
        """Restore the stored run, if there is one."""
        files = [file for file in (Path(self.path), self.previous) if file.exists()]
        if not files:
            return
        if not self.resume:
            raise FileExistsError(
                f"`{files[0]}` already holds a run. Continue it with `resume`, or "
                "delete it to start again."
            )
        state = self._first_whole(files, run)
        n_done = len(state["history"]["epochs"])
        if n_done > run.n_epochs_total:
            raise ValueError(
                f"`{self.path}` has {n_done} epochs, more than "
                f"`n_epochs`={run.n_epochs_total}. Raise it, or choose another file."
            )
        run.restore(state)

    def _first_whole(self, files: list[Path], run: Run) -> dict[str, Any]:
        """The state in the newest file that is not damaged."""
        latest, *others = files
        try:
            return self._read(latest, run)
        except DamagedError as error:
            for file in others:
                state = self._read(file, run)
                aside = latest.with_name(f"{latest.stem}.damaged{latest.suffix}")
                os.replace(latest, aside)
                warnings.warn(
                    f"{error} The run continues from `{file}`, which was written "
                    f"before it; the damaged file is now `{aside}`.",
                    RuntimeWarning,
                    2,
                )
                return state
            raise DamagedError(f"{error} Delete it to start again.") from error

    def _read(self, file: Path, run: Run) -> dict[str, Any]:
        """The state in a file, checked against the run."""
        try:
            tensors, description = persistence.read(file, KIND)
        except ValueError as error:
            raise DamagedError(str(error)) from error
        if description.get("kind") != KIND:
            raise ValueError(f"`{file}` is a file of crbm but no checkpoint.")
        try:
            changed = differences(description["settings"], self._described)
        except WRONG as error:
            raise _damage_error(file, error) from error
        if changed:
            raise ValueError(
                f"`{file}` is a checkpoint of another run: {'; '.join(changed)}. Set "
                "it back, or choose another file."
            )
        try:
            state = nest({**description["plain"], **tensors})
            check_state(run, state)
        except (*WRONG, ValueError) as error:
            raise _damage_error(file, error) from error
        return state


def _damage_error(file: Path, error: Exception) -> DamagedError:
    reason = one_line(str(error))
    return DamagedError(f"`{file}` is not a complete checkpoint: {reason}.")


def _n_bytes(run: Run) -> int:
    """Disk space of a run: two checkpoints and a temporary file."""
    tensors = (leaf for _, leaf in flatten(run.state()) if isinstance(leaf, Tensor))
    return 3 * sum(tensor.nbytes for tensor in tensors)


def _keep(path: Path, previous: Path) -> None:
    """Give the latest file a second name, under which it outlives the next one."""
    if not path.exists():
        return
    link = previous.with_name(f"{previous.name}{paths.DRAFT}")
    link.unlink(missing_ok=True)
    try:
        os.link(path, link)
    except OSError:  # a file system without links
        os.replace(path, previous)
    else:
        os.replace(link, previous)
        link.unlink(missing_ok=True)  # it stays if both were the same file


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
