"""The state of a run: everything that a checkpoint must keep."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from crbm.models import EnergyModel
from crbm.objectives import Objective
from crbm.training.batches import InMemory, Streamed
from crbm.training.history import Epoch, History
from crbm.training.hooks import Hook
from crbm.training.randomness import GLOBAL, Randomness
from crbm.training.update import Update
from crbm.types import Batch


@runtime_checkable
class Stateful(Protocol):
    """An objective that keeps something from one update to the next."""

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must keep."""
        ...

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from a stored state."""
        ...


class Run:
    """One run of the training loop, at any moment between two updates.

    Parameters
    ----------
    model, objective, update
        What learns, what names the states, and how a gradient moves the weights.
    randomness
        The generators of the run.
    n_epochs_total
        Epochs after which the run ends.
    n_cases
        Cases of an epoch; None where that is known only after the first.
    data
        Source of the batches.
    hooks
        The hooks in order of priority.
    settings
        Plain data that must be the same when the run is resumed.

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
        update: Update,
        randomness: Randomness = GLOBAL,
        *,
        n_epochs_total: int = 0,
        n_cases: int | None = None,
        data: InMemory | Streamed | None = None,
        hooks: Sequence[Hook] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self.objective, self.update = model, objective, update
        self.randomness, self.n_epochs_total = randomness, n_epochs_total
        self.hooks = sorted(hooks, key=lambda hook: hook.priority)
        self.data, self.settings = data, dict(settings or {})
        self.history, self.n_cases = History(), n_cases
        self._order_state = self._order.get_state()
        self._start_epoch()

    def _start_epoch(self) -> None:
        self.last_good = copy_weights(self.model)
        self.n_updates = self.n_seen = 0
        device = next(self.model.parameters()).device
        self.total_loss = torch.zeros((), dtype=torch.float64, device=device)
        self._began = time.perf_counter()

    @property
    def n_epochs(self) -> int:
        """Epochs that are finished; also the index of the present one."""
        return len(self.history.epochs)

    @property
    def mean_loss(self) -> float:
        """The mean loss of the present epoch so far, or of the one just finished."""
        if self.n_seen:
            return float(self.total_loss) / self.n_seen
        return self.history.loss[-1] if self.n_epochs else math.nan

    @property
    def is_over(self) -> bool:
        """Whether no epoch is left, or something has stopped the run."""
        return self.n_epochs >= self.n_epochs_total or self.history.stopped is not None

    @property
    def _order(self) -> torch.Generator:
        return self.randomness.generators["now"]

    def remaining(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches of the current epoch that have not been used yet.

        The order of the cases is not stored, because it is as long as the data. It is
        drawn again from the generator's state at the start of the epoch.
        """
        now = self._order.get_state()
        if not self.n_updates:
            self._order_state = now
            return batches
        self._order.set_state(self._order_state)
        for _ in islice(batches, self.n_updates):
            pass
        self._order.set_state(now)
        return batches

    def count(self, n_cases: int, loss: Tensor | None) -> None:
        """Record one update."""
        self.n_updates += 1
        self.n_seen += n_cases
        if loss is not None:
            self.total_loss += loss.sum()
        for hook in self.hooks:
            hook.after_update(self)

    def end_epoch(self, loss: float) -> None:
        """Record a finished epoch."""
        self.n_cases = self.n_seen
        seconds = time.perf_counter() - self._began
        self.history.epochs.append(Epoch(loss, None, seconds))
        self._start_epoch()
        for hook in self.hooks:
            hook.after_epoch(self)
        self._began = time.perf_counter()

    def stop(self, reason: str) -> None:
        """Make the present epoch the last one."""
        self.history.stopped = reason

    def diverge(self) -> None:
        """Restore the weights of the epoch before, and stop."""
        self.model.load_state_dict(self.last_good)
        self.stop("diverged")

    def _stateful_hooks(self) -> list[tuple[str, Hook]]:
        return [(hook.state_name, hook) for hook in self.hooks if hook.state_name]

    def state(self) -> dict[str, Any]:
        """All of the above as dictionaries of tensors and plain data."""
        objective = self.objective
        return {
            "weights": self.model.state_dict(),
            "last_good": self.last_good,
            **{name: hook.state() for name, hook in self._stateful_hooks()},
            "optimizer": self.update.state(),
            "objective": objective.state() if isinstance(objective, Stateful) else {},
            "random": {**self.randomness.state(), "order": self._order_state},
            "history": self.history.as_dict(),
            "n_updates": self.n_updates,
            "n_seen": self.n_seen,
            "total_loss": float(self.total_loss),
            "seconds": time.perf_counter() - self._began,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a stored state."""
        self.model.load_state_dict(state["weights"])
        self.last_good = state["last_good"]
        for name, hook in self._stateful_hooks():
            hook.restore(state[name])
        self.update.restore(optimizer_state(state.get("optimizer", {})))
        if isinstance(self.objective, Stateful):
            self.objective.restore(state.get("objective", {}))
        self.randomness.restore(state["random"])
        self._order_state = state["random"]["order"]
        self.history = History.from_dict(state["history"])
        self.n_updates, self.n_seen = state["n_updates"], state["n_seen"]
        self.total_loss.fill_(state["total_loss"])
        self._began = time.perf_counter() - state["seconds"]


def copy_weights(model: EnergyModel) -> dict[str, Tensor]:
    """A copy of the model's weights."""
    return {name: t.detach().clone() for name, t in model.state_dict().items()}


def are_finite(weights: Iterable[Tensor]) -> bool:
    """Whether all numbers are finite."""
    # the sum, one pass without a temporary, may overflow where all numbers are finite
    return all(bool(w.sum().isfinite()) or bool(w.isfinite().all()) for w in weights)


def optimizer_state(stored: dict[str, Any]) -> dict[str, Any]:
    """The state of an optimiser; it numbers parameters, where files have names."""
    numbered = {int(place): state for place, state in stored.get("state", {}).items()}
    return {**stored, "state": numbered}
