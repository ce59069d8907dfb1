"""One update of the weights, from a batch of cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from crbm.energies import Energy
from crbm.models import EnergyModel
from crbm.objectives import Objective
from crbm.training.batches import WHOLE, Shard
from crbm.training.randomness import Randomness, seeding
from crbm.training.update import Update
from crbm.types import Batch, Contrast

Augment = Callable[[Batch, Generator | None], Batch]


class Tally(NamedTuple):
    """The cases of one update, their total weight and their losses."""

    n_cases: int
    weight: float
    loss: Tensor | None

    @classmethod
    def of(cls, batch: Batch, contrast: Contrast) -> Tally:
        """Count the cases of a batch; cases without weight do not count."""
        if batch.weight is None:
            return cls(batch.n_cases, float(batch.n_cases), contrast.loss)
        weight = float(batch.weight.sum())
        tiny = torch.finfo(torch.float32).tiny
        return cls(batch.n_cases if weight else 0, max(weight, tiny), contrast.loss)


@dataclass(frozen=True)
class Step:
    """Condition, name states, differentiate, update.

    Parameters
    ----------
    model, objective, update
        What learns, what names the states, and how a gradient moves the weights.
    augment
        Changes each batch before it is learned from.
    """

    model: EnergyModel
    objective: Objective
    update: Update
    augment: Augment | None = None

    @property
    def shard(self) -> Shard:
        """Which cases of each batch are this process's."""
        return WHOLE

    def __call__(self, batch: Batch, randomness: Randomness, n_updates: int) -> Tally:
        noise = self.noise(randomness, n_updates)
        if self.augment is not None:
            batch = self.augment(batch, noise)
        batch = batch._replace(v=self.model.flatten_outputs(batch.v))
        energy, without_graph = self.condition(batch, noise, n_updates)
        contrast = self.objective(without_graph, batch, noise)
        if batch.weight is not None:
            contrast = contrast.weighted(batch.weight)
        tally = self.total(Tally.of(batch, contrast))
        self.update(batch.u, contrast, 1 / tally.weight, energy)
        return tally

    def condition(
        self, batch: Batch, noise: Generator | None, n_updates: int
    ) -> tuple[Energy, Energy]:
        """The energy of the batch with the graph its gradient needs, and without.

        Dropout in a network draws from torch's global generator, whose seed follows
        from `noise` here, so that the run repeats and can be resumed.
        """
        if self.model.closed_form:
            energy = self.model.condition_unchecked(batch.u)
            return energy, energy
        with torch.enable_grad(), seeding(noise, stream=2, offset=n_updates):
            energy = self.model.condition_unchecked(batch.u)
        return energy, energy.detach()

    def noise(self, randomness: Randomness, n_updates: int) -> Generator | None:
        """The generator of one update's samples."""
        return randomness.noise

    def total(self, tally: Tally) -> Tally:
        """The tally of all processes that train together."""
        return tally
