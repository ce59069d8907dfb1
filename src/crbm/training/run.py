"""Where a run stands: everything that must be kept to go on from there."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Generator, Tensor

from crbm.models import EnergyModel
from crbm.objectives import Objective
from crbm.training.descent import Descent
from crbm.training.early_stopping import BestWeights, copied
from crbm.training.history import Epoch, History
from crbm.types import Batch


@runtime_checkable
class Stateful(Protocol):
    """An objective that remembers something from one update to the next."""

    def state(self) -> dict[str, Tensor]:
        """What must be kept to go on later."""
        ...

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a kept state."""
        ...


class Run:
    """One run of the training loop, at any moment between two updates.

    Parameters
    ----------
    model, objective, update
        What learns, by which rule, and how the weights move.
    generator
        The source of randomness; torch's own unless given.
    patience
        Epochs without a new lowest validation error before the run stops.
    n_cases
        Cases of an epoch; None where that is known only after the first.

    Attributes
    ----------
    history
        The finished epochs.
    n_updates, n_seen, total_loss
        Updates, cases and the sum of their losses in the present epoch.
    """

    def __init__(
        self,
        model: EnergyModel,
        objective: Objective,
        update: Descent,
        generator: Generator | None = None,
        patience: int | None = None,
        n_cases: int | None = None,
    ) -> None:
        self.model, self.objective, self.update = model, objective, update
        self.generator = generator
        self.history, self.best = History(), BestWeights(patience)
        self.n_cases = n_cases
        self._order_state = self._random.get_state()
        self._start_epoch()

    def _start_epoch(self) -> None:
        self.last_good = copied(self.model)
        self.n_updates = self.n_seen = 0
        device = next(self.model.parameters()).device
        self.total_loss = torch.zeros((), dtype=torch.float64, device=device)
        self._began = time.perf_counter()

    @property
    def n_epochs(self) -> int:
        """Epochs that are finished; also the place of the present one."""
        return len(self.history.epochs)

    @property
    def gap(self) -> float:
        """The mean loss of the present epoch so far, or of the one just finished."""
        if self.n_seen:
            return float(self.total_loss) / self.n_seen
        return self.history.loss[-1] if self.n_epochs else math.nan

    @property
    def _random(self) -> Generator:
        return torch.default_generator if self.generator is None else self.generator

    def remaining(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches of the present epoch without those already learned from.

        The order of the cases is as long as the data, so it is not kept but drawn again
        from the generator as it was at the start of the epoch.
        """
        now = self._random.get_state()
        if not self.n_updates:
            self._order_state = now
            return batches
        self._random.set_state(self._order_state)
        for _ in islice(batches, self.n_updates):
            pass
        self._random.set_state(now)
        return batches

    def count(self, n_cases: int, loss: Tensor | None) -> None:
        """Note one update."""
        self.n_updates += 1
        self.n_seen += n_cases
        if loss is not None:
            self.total_loss += loss.sum()

    def end_epoch(self, loss: float, error: float | None) -> None:
        """Note a finished epoch, and whether it is the last one."""
        place, seconds = self.n_epochs, time.perf_counter() - self._began
        self.n_cases = self.n_seen
        self.history.epochs.append(Epoch(loss, error, seconds))
        if error is not None:
            self.best.update(self.model, error, place)
            if self.best.exhausted(place):
                self.history.stopped = "early"
        self._start_epoch()

    def diverge(self) -> None:
        """Go back to the weights of the epoch before, and stop."""
        self.model.load_state_dict(self.last_good)
        self.history.stopped = "diverged"

    def finish(self) -> History:
        """Give the model its best weights; the record of the run."""
        self.best.restore(self.model)
        self.history.best_epoch = self.best.epoch
        return self.history

    def state(self) -> dict[str, Any]:
        """All of the above as dictionaries of tensors and plain data."""
        rule = self.objective
        return {
            "weights": self.model.state_dict(),
            "last_good": self.last_good,
            "best": self.best.state(),
            "optimizer": self.update.state(),
            "objective": rule.state() if isinstance(rule, Stateful) else {},
            "random": {"now": self._random.get_state(), "order": self._order_state},
            "history": self.history.as_dict(),
            "n_updates": self.n_updates,
            "n_seen": self.n_seen,
            "total_loss": float(self.total_loss),
            "seconds": time.perf_counter() - self._began,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a kept state."""
        self.model.load_state_dict(state["weights"])
        self.last_good = state["last_good"]
        self.best.load(state["best"])
        self.update.restore(_optimizer(state.get("optimizer", {})))
        if isinstance(self.objective, Stateful):
            self.objective.restore(state.get("objective", {}))
        self._random.set_state(state["random"]["now"])
        self._order_state = state["random"]["order"]
        self.history = History.from_dict(state["history"])
        self.n_updates, self.n_seen = state["n_updates"], state["n_seen"]
        self.total_loss.fill_(state["total_loss"])
        self._began = time.perf_counter() - state["seconds"]


def _optimizer(kept: dict[str, Any]) -> dict[str, Any]:
    """The state of an optimiser; it numbers parameters, where files have names."""
    numbered = {int(place): state for place, state in kept.get("state", {}).items()}
    return {**kept, "state": numbered}
