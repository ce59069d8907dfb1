"""Learning rates that change during a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from crbm.training.hooks import Hook
from crbm.training.run import Run


@dataclass(frozen=True)
class CosineSchedule(Hook):
    """Lowers the learning rate after each epoch along a half cosine, to 0 at the end.

    It works with plain SGD and with any optimiser of torch, and a resumed run continues
    at the rate it had.

    Examples
    --------
    >>> import crbm, torch
    >>> u = torch.eye(4)
    >>> history = crbm.training.fit(
    ...     crbm.CRBM(4, 4, 2), crbm.objectives.Perceptron(), crbm.types.Batch(u, u),
    ...     n_epochs=2, hooks=[CosineSchedule()],
    ... )
    """

    on_every_rank: ClassVar[bool] = True

    def start(self, run: Run) -> None:
        self.after_epoch(run)

    def after_epoch(self, run: Run) -> None:
        share = run.n_epochs / max(1, run.n_epochs_total)
        run.update.scale_rate((1 + math.cos(math.pi * share)) / 2)

    def describe(self) -> dict[str, Any]:
        return {"schedule": "cosine"}


@dataclass(frozen=True)
class OneCycleSchedule(Hook):
    """Raises the learning rate to its largest value, then lowers it along a cosine.

    It changes after every update, which suits short runs. It works with any optimiser,
    and a resumed run continues at the rate it had.

    Parameters
    ----------
    n_updates
        Updates of an epoch.
    warm_up
        Share of all updates in which the rate rises, in equal steps.

    Examples
    --------
    >>> OneCycleSchedule(10, warm_up=0.1).factor(0.1), OneCycleSchedule(10).factor(1.0)
    (1.0, 0.0)
    """

    n_updates: int
    warm_up: float = 0.1

    on_every_rank: ClassVar[bool] = True

    def start(self, run: Run) -> None:
        self.after_update(run)

    def after_update(self, run: Run) -> None:
        done = run.n_epochs * self.n_updates + run.n_updates + 1
        run.update.scale_rate(
            self.factor(done / max(1, run.n_epochs_total * self.n_updates))
        )

    def factor(self, share: float) -> float:
        """The rate after a share of the run, relative to the largest."""
        if share < self.warm_up:
            return share / self.warm_up
        left = (share - self.warm_up) / (1 - self.warm_up)
        return (1 + math.cos(math.pi * min(1.0, left))) / 2

    def describe(self) -> dict[str, Any]:
        return {"schedule": f"one cycle, {self.warm_up} rising"}
