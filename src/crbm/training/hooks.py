"""What may watch a run: each hook hears of every update and every epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from crbm.training.history import Epoch
from crbm.training.run import Run


@runtime_checkable
class Hook(Protocol):
    """Something that is told where the run stands."""

    def after_update(self, run: Run) -> None:
        """Hear of one more update."""
        ...

    def after_epoch(self, run: Run) -> None:
        """Hear of one more finished epoch."""
        ...


@dataclass(frozen=True)
class Callback:
    """A user's function, called after each epoch with its place and record."""

    function: Callable[[int, Epoch], None]

    def after_update(self, run: Run) -> None:
        pass

    def after_epoch(self, run: Run) -> None:
        self.function(run.n_epochs - 1, run.history.epochs[-1])


def told(function: Callable[[int, Epoch], None] | None) -> list[Callback]:
    """The hooks that a user's function stands for: one or none."""
    return [] if function is None else [Callback(function)]
