"""What happened during training, as plain data."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from crbm.training import rendering


class Epoch(NamedTuple):
    """One pass over the data: the mean loss, the validation error, the time taken."""

    loss: float
    validation: float | None
    seconds: float


@dataclass
class History:
    """The epochs of a run, and how it ended; notebooks show it as a small table.

    Parameters
    ----------
    epochs
        One record per pass over the data, in order.
    best_epoch
        Place of the epoch with the lowest validation error, whose weights the model
        now has; None without validation.
    stopped
        "early" when the validation error no longer fell, "diverged" when the loss was
        no longer finite, None when all epochs were run.
    """

    epochs: list[Epoch] = field(default_factory=list)
    best_epoch: int | None = None
    stopped: str | None = None

    @property
    def loss(self) -> list[float]:
        """The mean loss of each epoch."""
        return [epoch.loss for epoch in self.epochs]

    @property
    def validation(self) -> list[float | None]:
        """The validation error after each epoch."""
        return [epoch.validation for epoch in self.epochs]

    @property
    def seconds(self) -> float:
        """The time that all epochs took."""
        return math.fsum(epoch.seconds for epoch in self.epochs)

    def as_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists and numbers, ready for JSON."""
        plain = asdict(self)
        plain["epochs"] = [epoch._asdict() for epoch in self.epochs]
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> History:
        """The history that `as_dict` gave."""
        epochs = [Epoch(**epoch) for epoch in plain["epochs"]]
        return cls(epochs, plain["best_epoch"], plain["stopped"])

    def plot(self, ax: Any = None) -> Any:
        """Draw the loss and the validation error by epoch.

        Parameters
        ----------
        ax
            Axes of matplotlib to draw the loss on; new ones unless given. The
            validation error gets a scale of its own on the right.

        Returns
        -------
        The axes of the loss.
        """
        return rendering.curves(ax, self.loss, self.validation, self.best_epoch)

    def _repr_html_(self) -> str:
        rows = {
            "epochs": f"{len(self.epochs)} in {self.seconds:.1f} s",
            "ended": self.stopped or "after all epochs",
            "loss": rendering.summary(self.loss),
        }
        if self.best_epoch is not None:
            rows["validation error"] = rendering.summary(self.validation)
            rows["best epoch"] = str(self.best_epoch)
        return rendering.table(rows)
