"""Max margin: CD-PercLoss with a loss-augmented search, the paper's future work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from crbm import checks
from crbm.energies import Energy
from crbm.inference import exact, search
from crbm.objectives import base
from crbm.types import Batch, Candidates, Contrast, Evaluated


@dataclass(frozen=True)
class MaxMargin:
    """The data against outputs both likely and wrong, until a margin parts them.

    The search lowers F(v', u) - margin * loss(v', v). The loss is a weighted Hamming
    loss, linear in v', so it only shifts the visible biases. Where the batch has
    candidates V(u), the search is exact over them; otherwise it is that of CD-PercLoss.
    Cases whose gap already exceeds the loss are left alone. Train it with L2, as
    margins can be bought by scaling up.

    Parameters
    ----------
    n_steps
        Gibbs steps of the search.
    margin
        Free energy that a wrong unit of cost 1 must cost.
    costs
        The cost of each output unit when it is wrong; None costs 1 each.
    missed
        Factor on the cost of a label that is there and is not predicted, for binary
        outputs; above 1 favours recall.

    Notes
    -----
    [1]_, Section 7, for CD-PercLoss and for HashCRBM. The base measure of candidates,
    if they have one, belongs to their score.

    Examples
    --------
    >>> import crbm
    >>> u, v = torch.ones(2, 4), torch.zeros(2, 2)
    >>> all_sets = exact.all_states(2)
    >>> model = crbm.CRBM(4, 2, 0, dtype=torch.float32)
    >>> _ = model.weight_uv.data.zero_()
    >>> batch = Batch(u, v, all_sets)
    >>> MaxMargin(costs=(1.0, 3.0))(model.condition(u).detach(), batch).loss
    tensor([4., 4.])
    """

    short_name: ClassVar[str] = "max_margin"

    n_steps: int = 10
    margin: float = 1.0
    costs: Sequence[float] | None = base.added_later(None)
    missed: float = base.added_later(1.0)

    def __post_init__(self) -> None:
        checks.whole_number("n_steps", self.n_steps, at_least=1)
        checks.positive("margin", self.margin)
        checks.positive("missed", self.missed)
        if self.costs is not None and not all(cost >= 0 for cost in self.costs):
            raise ValueError(
                f"`costs` must not be negative; got {min(self.costs)}. Use 0 for an "
                "output that does not matter."
            )

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        energy = energy.expand(batch.n_cases)
        data = energy.evaluate(self._complete(energy, batch, generator))
        toward_wrong = self.margin * self._slope(energy, data.v)
        base_gap: Tensor | float = 0.0
        augmented = energy.tilt(toward_wrong)
        if batch.candidates is None:
            start = augmented.start(generator)
            walk = search.walk(augmented, start, self.n_steps, generator)
            wrong = search.lowest(walk)
        else:
            candidates = Candidates.of(batch.candidates)
            best = exact.mode(augmented, candidates=candidates).v
            wrong = augmented.evaluate(best)
            base_gap = _log_base(candidates, best) - _log_base(candidates, data.v)
        return _until_margin(data, wrong, toward_wrong, base_gap)

    def _slope(
        self, energy: Energy, v: Float[Tensor, "batch visible"]
    ) -> Float[Tensor, "batch visible"]:
        """The slope of the loss by v', which is linear."""
        units, slope = energy.visible, energy.visible.hamming_slope(v)
        if self.missed != 1:
            if units.width != 1:
                raise TypeError(
                    "`missed` is for binary outputs, where a label is there or not; "
                    f"got {units!r}. Use `costs`."
                )
            slope = torch.where(v > 0.5, self.missed * slope, slope)
        if self.costs is None:
            return slope
        costs = torch.as_tensor(self.costs).to(v).repeat_interleave(units.width)
        if costs.shape != v.shape[1:]:
            raise ValueError(
                f"`costs` must hold one number for each of the {v.shape[1]} // "
                f"{units.width} output units; got {len(self.costs)}."
            )
        return costs * slope

    def _complete(
        self, energy: Energy, batch: Batch, generator: Generator | None
    ) -> Float[Tensor, "batch visible"]:
        """The outputs, unknown ones filled in by the most likely ones found."""
        by = partial(search.gibbs, n_steps=self.n_steps, generator=generator)
        unknown = batch.v.isnan()
        if batch.candidates is None or not unknown.any():
            return base.impute(energy, batch.v, by)
        # Cases that are known entirely need not be among their candidates.
        known = torch.where(unknown.any(1, keepdim=True), batch.v, torch.nan)
        best = exact.mode(energy.clamp(known), candidates=batch.candidates).v
        return torch.where(unknown, best, batch.v)


def _until_margin(
    data: Evaluated,
    wrong: Evaluated,
    toward_wrong: Tensor,
    base_gap: Tensor | float,
) -> Contrast:
    """The pair, counted only while F does not part it by the loss."""
    # wrong.free_energy is augmented: F(v') - v' . slope, and the loss is 0 at the data
    own = data.free_energy - (data.v * toward_wrong).sum(-1)
    violation = (own - wrong.free_energy + base_gap).relu()
    contrast = Contrast.pair(data, wrong).weighted((violation > 0).to(violation))
    return contrast._replace(loss=violation)


def _log_base(candidates: Candidates, v: Tensor) -> Tensor | float:
    """The log of the base measure at v; 0 where v is not a candidate."""
    if candidates.log_base is None:
        return 0.0
    table, ids, log_base = candidates.table, candidates.ids, candidates.log_base
    if ids is not None:
        table, log_base = table[ids], log_base[ids]
    same = (table == v[:, None]).all(-1)
    if candidates.mask is not None:
        same &= candidates.mask
    found = torch.where(same, log_base, -torch.inf).amax(-1)
    return torch.where(found.isfinite(), found, 0)
