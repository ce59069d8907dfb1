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
