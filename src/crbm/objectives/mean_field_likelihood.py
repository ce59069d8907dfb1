"""The likelihood under mean field: train the very prediction that will be made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor

from crbm import checks
from crbm.energies import Energy, is_bipartite
from crbm.inference import mean_field
from crbm.types import Batch, Contrast


@dataclass(frozen=True)
class MeanFieldLikelihood:
    """The prediction of mean field against the same, nudged towards the data.

    It lowers the cross-entropy of the mean-field marginals, which a prediction rounds.
    With a nudge of 1 the nudged state is the data itself, as in CD-PercLoss; with a
    small one the gradient becomes that of the cross-entropy. From small random weights
    its hidden units hardly learn: start with `Perceptron`, then continue with this.

    Parameters
    ----------
    n_steps
        Mean-field steps before the nudge.
    n_nudged
        Further steps, with the nudge and without.
    nudge
        How far each of them moves the outputs towards the data, from 0 to 1.

    Notes
    -----
    Mean field descends G(v, u) = F(v, u) - entropy(v). At its minimum the slope of any
    loss of v, by any weight, is the limit of [dF(nudged) - dF(free)] / nudge, where the
    nudged state is the minimum of G + nudge * loss [2]_. For the cross-entropy that
    state is, to first order, where v = (1 - nudge) sigmoid(log-odds) + nudge * data,
    all outputs moving at once: so only models whose outputs meet in hidden units.

    References
    ----------
    .. [2] B. Scellier and Y. Bengio, "Equilibrium propagation: bridging the gap between
       energy-based models and backpropagation", Frontiers in Computational
       Neuroscience 11, 2017.

    Examples
    --------
    >>> import crbm
    >>> u, v = torch.ones(5, 4), torch.zeros(5, 3)
    >>> contrast = MeanFieldLikelihood()(crbm.CRBM(4, 3, 2).condition(u), Batch(u, v))
    >>> bool((contrast.positive.v < contrast.negative.v).all())
    True
    """

    short_name: ClassVar[str] = "mean_field"

    n_steps: int = 5
    n_nudged: int = 3
    nudge: float = 0.3

    def __post_init__(self) -> None:
        checks.whole_number("n_steps", self.n_steps, at_least=1)
        checks.whole_number("n_nudged", self.n_nudged, at_least=0)
        if not 0 < self.nudge <= 1:
            raise ValueError(
                f"`nudge` must be above 0 and at most 1; got {self.nudge}."
            )

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        if not is_bipartite(energy):
            raise TypeError(
                "MeanFieldLikelihood needs a model with hidden units, RBM or CRBM; got "
                f"{type(energy).__name__}. Use BeliefLikelihood or ExactLikelihood for "
                "other models."
            )
        energy = energy.expand(batch.n_cases)
        free = mean_field.run(energy, n_steps=self.n_steps).v
        nudged = self._towards(batch.v, free)
        for _ in range(self.n_nudged):
            free = mean_field.step(energy, free)
            nudged = self._towards(batch.v, mean_field.step(energy, nudged))
        contrast = Contrast.pair(energy.evaluate(nudged), energy.evaluate(free))
        scale = free.new_full((batch.n_cases,), 1 / self.nudge)
        loss = energy.visible.log_losses(free, batch.v).nansum(-1)
        return contrast.weighted(scale)._replace(loss=loss)

    def _towards(self, v: Tensor, means: Tensor) -> Tensor:
        """The means moved towards the data; an unknown output is left where it is."""
        return torch.where(v.isnan(), means, means.lerp(v, self.nudge))
