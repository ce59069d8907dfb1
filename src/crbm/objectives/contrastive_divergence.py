"""Contrastive divergence, from the data and from chains that persist."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Generator, Tensor

from crbm import checks
from crbm.energies import Energy
from crbm.inference import gibbs
from crbm.objectives.base import drawn
from crbm.types import Batch, Contrast


@dataclass(frozen=True)
class ContrastiveDivergence:
    """The data against the end of a short Gibbs chain started at it.

    The gap it lowers is not a likelihood: do not compare it across models.

    Parameters
    ----------
    n_steps
        Length of the chain; the k of CD-k.

    Notes
    -----
    F(v, u) - F(v_k, u) with v_k held constant [1]_, Eq. 13.
    """

    n_steps: int = 1

    def __post_init__(self) -> None:
        checks.whole_number("n_steps", self.n_steps, at_least=1)

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        data = energy.evaluate(drawn(energy, batch.v, self.n_steps, generator))
        end = gibbs.run(
            energy,
            data.v,
            n_steps=self.n_steps,
            generator=generator,
            hidden_logits=data.hidden_logits,
        )
        return Contrast.pair(data, energy.evaluate(end.v))


@dataclass(frozen=True)
class PersistentContrastiveDivergence:
    """The data against chains that live on from update to update.

    Only for models without inputs: each u has a distribution of its own, so no chain
    can persist across cases [1]_, Section 3.

    Parameters
    ----------
    n_steps
        Gibbs steps per update.

    Notes
    -----
    [1]_, Section 2.3, after Tieleman (2008).
    """

    n_steps: int = 1
    chains: list[Tensor] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        checks.whole_number("n_steps", self.n_steps, at_least=1)

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        if energy.batch_shape:
            raise ValueError(
                "Persistent chains need one distribution for all cases, but a "
                "conditional model has a different p(v|u) for each u, so the chain of "
                "one case is no sample for the next. "
                "Use Perceptron or ContrastiveDivergence."
            )
        data = energy.evaluate(drawn(energy, batch.v, self.n_steps, generator))
        if not self.chains or len(self.chains[0]) < len(data.v):
            self.chains[:] = [data.v]
        start = self.chains[0][: len(data.v)]
        end = gibbs.run(energy, start, n_steps=self.n_steps, generator=generator).v
        self.chains[0] = end
        return Contrast.pair(data, energy.evaluate(end))
