"""CD-PercLoss: the data against the model's own prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Generator

from crbm import checks
from crbm.energies import Energy
from crbm.inference import exact, search
from crbm.objectives import base
from crbm.types import Batch, Contrast


@dataclass(frozen=True)
class Perceptron:
    """The data against the best output that a short search from u finds.

    The search never sees the data, so the gap is large wherever the model predicts
    badly; that is what contrastive divergence lacks.

    Parameters
    ----------
    n_steps
        Gibbs steps of the search.
    precision
        Of the search's products, as in ContrastiveDivergence.
    search
        "gibbs", or "exact": the lowest free energy of all candidates, if the batch has
        any, or of all outputs, of which there may be 2^20.

    Notes
    -----
    F(v, u) - F(v', u), where v' is the state of lowest free energy among the `n_steps`
    visited, held constant [1]_, Eq. 17 and Section 6.2. With the exact search it is the
    loss of Eq. 17 itself, which is never negative.
    """

    short_name: ClassVar[str] = "perceptron"

    n_steps: int = 10
    precision: str = "full"
    search: str = base.added_later("gibbs")

    def __post_init__(self) -> None:
        checks.whole_number("n_steps", self.n_steps, at_least=1)
        checks.one_of("precision", self.precision, base.PRECISIONS)
        checks.one_of("search", self.search, ("gibbs", "exact"))

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        energy = energy.expand(batch.n_cases)
        by = partial(search.gibbs, n_steps=self.n_steps, generator=generator)
        data = energy.evaluate(base.impute(energy, batch.v, by))
        if self.search == "exact":
            best = exact.mode(energy, candidates=batch.candidates)
            return Contrast.pair(data, energy.evaluate(best.v))
        start = energy.start(generator)
        walked = base.for_chain(energy, self.precision)
        found = search.lowest(search.walk(walked, start, self.n_steps, generator))
        if walked is not energy:
            found = energy.evaluate(found.v)
        return Contrast.pair(data, found)
