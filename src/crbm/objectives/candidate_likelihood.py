"""The likelihood over the candidates V or V(u): HashCRBM's objective."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Generator

from crbm.energies import Energy
from crbm.inference import exact
from crbm.types import Batch, Contrast, States


@dataclass(frozen=True)
class CandidateLikelihood:
    """The data against all candidates, weighted by their exact probability.

    Outputs that are not known (NaN) are summed over the candidates that agree with
    the known ones, which keeps the gradient exact.

    Notes
    -----
    -log p(v | u) over V or V(u) [1]_, Eqs. 14 and 15. The data need not be among the
    candidates, but the loss is a likelihood only where they are. If the candidates
    have a base measure, the loss leaves out that of the data, which is constant.
    """

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        if batch.candidates is None:
            raise ValueError(
                "CandidateLikelihood needs `candidates` in its batch, the outputs V(u) "
                "of each case; got None. Make them with hashing.CandidateSets, or use "
                "ExactLikelihood for a small model."
            )
        return against_all(energy, batch)


def against_all(energy: Energy, batch: Batch) -> Contrast:
    """-log p(v | u) as a contrast: the data against everything, weighted."""
    energy = energy.expand(batch.n_cases)
    if batch.v.sum().isnan():
        return _partly_known(energy, batch)
    data = energy.evaluate(batch.v)
    states, scores = exact.scores(energy, batch.candidates)
    return Contrast(
        States(data.v, cache=data.cache),
        states._replace(weight=scores.softmax(-1)),
        loss=data.free_energy + scores.logsumexp(-1),
    )


def _partly_known(energy: Energy, batch: Batch) -> Contrast:
    agreeing, agreeing_scores = exact.scores(energy.clamp(batch.v), batch.candidates)
    states, scores = exact.scores(energy, batch.candidates)
    return Contrast(
        agreeing._replace(weight=agreeing_scores.softmax(-1)),
        states._replace(weight=scores.softmax(-1)),
        loss=scores.logsumexp(-1) - agreeing_scores.logsumexp(-1),
    )
