"""Ratio matching: probabilities of the data relative to those of its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Generator

from crbm.energies import Energy
from crbm.objectives.neighbours import OneOutput
from crbm.types import Batch, Contrast


@dataclass(frozen=True)
class RatioMatching(OneOutput):
    """The data against itself with one output changed, most where the two compete.

    Like `PseudoLikelihood` with a bounded loss per output: a neighbour that is far more
    likely than the data counts little, which makes it robust to wrong labels.

    Parameters
    ----------
    n_blocks
        Outputs per case and update, drawn at random; None takes all.

    Notes
    -----
    The sum over all neighbours v' of the squared share p(v') / (p(v) + p(v')) [2]_,
    Section 4 there, where outputs are binary; a categorical output has one neighbour
    for each other value.

    References
    ----------
    .. [2] A. Hyvarinen, "Some extensions of score matching", Computational Statistics
       and Data Analysis 51, 2007.

    Examples
    --------
    >>> import crbm, torch
    >>> u, v = torch.ones(5, 4), torch.zeros(5, 3)
    >>> contrast = RatioMatching()(crbm.CRBM(4, 3, 2).condition(u), Batch(u, v))
    >>> bool((contrast.loss < 3).all())  # at most 1 per output
    True
    """

    short_name: ClassVar[str] = "ratio_matching"

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        self.check_units(energy)
        near = self.neighbours(energy.expand(batch.n_cases), batch, generator)
        share = near.gap.sigmoid()
        weight = 2 * share.square() * (1 - share)  # the slope of share^2 by the gap
        return near.contrast(weight, share.square().sum((1, 2)))
