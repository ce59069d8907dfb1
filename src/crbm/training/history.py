"""What happened during training, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple


class Epoch(NamedTuple):
    """One pass over the data: the mean loss, the validation error, the time taken."""

    loss: float
    validation: float | None
    seconds: float


@dataclass
class History:
    """The epochs of a run, and how it ended.

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

    def as_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists and numbers, ready for JSON."""
        plain = asdict(self)
        plain["epochs"] = [epoch._asdict() for epoch in self.epochs]
        return plain
