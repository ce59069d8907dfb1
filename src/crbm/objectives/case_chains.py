"""Persistent contrastive divergence with a chain of its own for each case."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor

from crbm.energies import Energy
from crbm.inference import gibbs
from crbm.objectives.base import impute, sample
from crbm.objectives.memory import CaseMemory, rows_of
from crbm.types import Batch, Contrast

if TYPE_CHECKING:
    from crbm.objectives.contrastive_divergence import PersistentContrastiveDivergence


class CaseChains:
    """The chains of one run; each moves only when its case is visited."""

    def __init__(self, origin: PersistentContrastiveDivergence) -> None:
        self.origin, self.memory = origin, CaseMemory(1)

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        rows, energy = rows_of(batch), energy.expand(batch.n_cases)
        n_steps = self.origin.n_steps
        by = partial(sample, n_steps=n_steps, generator=generator)
        data = energy.evaluate(impute(energy, batch.v, by))
        stored, exists = self.memory.read(rows, data.v, energy.visible)
        start = torch.where(exists, stored[:, 0], data.v)
        end = gibbs.run(energy, start, n_steps=n_steps, generator=generator).v
        self.memory.write(rows, torch.zeros_like(rows), end)
        return Contrast.pair(data, energy.evaluate(end))

    def state(self) -> dict[str, Tensor]:
        """The chains, for a checkpoint."""
        return self.memory.state()

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue with the chains of a checkpoint."""
        self.memory.restore(state)
