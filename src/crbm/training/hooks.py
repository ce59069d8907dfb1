"""Hooks: what happens during a run besides learning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from crbm.training.history import Epoch

if TYPE_CHECKING:
    from crbm.training.run import Run


class Hook:
    """Called by the training loop; override what you need.

    Hooks run in the order of their `priority`, then in the order given. They start in
    the reverse order, so that a checkpoint is restored before anything looks at the
    run.

    Attributes
    ----------
    priority
        0 for validation, 1 for most hooks, 4 for checkpoints, which come last.
    on_every_rank
        Under torchrun, whether all processes call the hook or only the first one.
    state_name
        The name under which checkpoints keep the hook's `state`; None if it has none.

    Examples
    --------
    >>> import crbm, torch
    >>> class PrintLoss(Hook):
    ...     def after_epoch(self, run):
    ...         print(f"epoch {run.n_epochs} of {run.n_epochs_total}")
    >>> u = torch.eye(4)
    >>> history = crbm.training.fit(
    ...     crbm.CRBM(4, 4, 2), crbm.objectives.Perceptron(), crbm.types.Batch(u, u),
    ...     n_epochs=2, hooks=[PrintLoss()],
    ... )
    epoch 1 of 2
    epoch 2 of 2
    """

    priority: ClassVar[int] = 1
    on_every_rank: ClassVar[bool] = False
    state_name: ClassVar[str | None] = None

    def start(self, run: Run) -> None:
        """Called before the first update, also of a resumed run."""

    def after_update(self, run: Run) -> None:
        """Called after each update of the weights."""

    def after_epoch(self, run: Run) -> None:
        """Called after each epoch; `run.stop(reason)` makes it the last one."""

    def finish(self, run: Run) -> None:
        """Called after the last epoch."""

    def close(self) -> None:
        """Called when the run ends, also by an exception."""

    def describe(self) -> dict[str, Any]:
        """What must be the same when a run is resumed, as plain data."""
        return {}

    def state(self) -> dict[str, Any]:
        """What a checkpoint must keep."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a stored state."""


@dataclass(frozen=True)
class Callback(Hook):
    """Calls a function after each epoch with its index and its record."""

    function: Callable[[int, Epoch], None]

    def after_epoch(self, run: Run) -> None:
        self.function(run.n_epochs - 1, run.history.epochs[-1])
