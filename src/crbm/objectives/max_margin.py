"""Max margin: CD-PercLoss with a loss-augmented search, the paper's future work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from torch import Generator

from crbm import checks
from crbm.energies import Energy
from crbm.inference import search
from crbm.objectives import base
from crbm.types import Batch, Contrast


@dataclass(frozen=True)
class MaxMargin:
    """The data against outputs both likely and wrong, until a margin parts them.

    The search lowers F(v', u) - margin * hamming(v', v): the Hamming loss is linear in
    v', so it only shifts the visible biases. Cases whose gap already exceeds the
    loss are left alone. Train it with L2, as margins can be bought by scaling up.

    Parameters
    ----------
    n_steps
        Gibbs steps of the search.
    margin
        Free energy that one wrong unit must cost.

    Notes
    -----
    [1]_, Section 7.
    """

    n_steps: int = 10
    margin: float = 1.0

    def __post_init__(self) -> None:
        checks.whole_number("n_steps", self.n_steps, at_least=1)
        checks.positive("margin", self.margin)

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        energy = energy.expand(batch.n_cases)
        by = partial(search.gibbs, n_steps=self.n_steps, generator=generator)
        data = energy.evaluate(base.impute(energy, batch.v, by))
        toward_wrong = self.margin * energy.visible.hamming_slope(data.v)
        augmented = energy.tilt(toward_wrong)
        start = augmented.start(generator)
        found = search.lowest(search.walk(augmented, start, self.n_steps, generator))
        wrong = found._replace(
            free_energy=found.free_energy + (found.v * toward_wrong).sum(-1)
        )
        contrast = Contrast.pair(data, wrong)
        assert contrast.loss is not None
        required = self.margin * energy.visible.hamming(found.v, data.v)
        violation = (required + contrast.loss).relu()
        return contrast.weighted((violation > 0).to(violation))._replace(loss=violation)
