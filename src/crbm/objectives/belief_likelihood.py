"""The likelihood of a CRF, with loopy-BP beliefs for what cannot be enumerated."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Generator

from crbm import checks
from crbm.energies import Energy, PairwiseEnergy, is_pairwise
from crbm.inference import loopy_bp
from crbm.types import Batch, Contrast, Moments, States


@dataclass(frozen=True)
class BeliefLikelihood:
    """The data against the moments that loopy belief propagation estimates.

    For a CRF, whose gradient needs the means of v and of v v and nothing else. The
    loss is -log p(v | u) with Bethe's estimate of log Z: exact on trees.

    Parameters
    ----------
    n_steps, damping
        Of belief propagation; the paper's CRF takes 50 steps.
    """

    n_steps: int = 50
    damping: float = 0.3

    def __post_init__(self) -> None:
        checks.whole_number("n_steps", self.n_steps, at_least=1)
        checks.unit_interval("damping", self.damping, open_end=True)

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        if not is_pairwise(energy):
            raise TypeError(
                "BeliefLikelihood needs a CRF, whose outputs are coupled in pairs; got "
                f"{type(energy).__name__}. Use CandidateLikelihood or Perceptron for "
                "models with hidden units."
            )
        negative = self._beliefs(energy)
        log_z = loopy_bp.log_partition(energy, negative)
        if not batch.v.sum().isnan():
            loss = energy.free_energy(batch.v) + log_z
            return Contrast(States(batch.v), negative, loss)
        clamped = energy.clamp(batch.v)
        positive = self._beliefs(clamped)
        loss = log_z - loopy_bp.log_partition(clamped, positive)
        return Contrast(positive, negative, loss)

    def _beliefs(self, energy: PairwiseEnergy) -> Moments:
        return loopy_bp.moments(energy, n_steps=self.n_steps, damping=self.damping)
