"""Probabilities of whole label sets where any output is possible."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from crbm.estimators.base import StructuredClassifier
from crbm.inference import exact
from crbm.inference.enumeration import all_states
from crbm.inference.partition import log_partition
from crbm.types import Batch

# All 2^n label sets are compared up to this many labels.
ENUMERABLE_LABELS = 12
# Numbers in the largest temporary of a comparison: 64 MB.
LARGEST_TABLE = 2**24


@dataclass(eq=False, repr=False, kw_only=True)
class UnlimitedClassifier(StructuredClassifier):
    """A classifier that may predict any of the 2^n label sets.

    Log probabilities are exact where one layer of the model has at most 20 units, and
    estimates otherwise (Bethe's for a CRF, annealed importance sampling for a CRBM).
    With more than 12 labels `predict_top_k` compares the sets seen in training and the
    one that the marginals round to.
    """

    def _learn_candidates(self, data: Batch, *, more: bool) -> None:
        if self.n_labels_ <= ENUMERABLE_LABELS:
            self.observed_ = all_states(self.n_labels_, like=data.v)
            return
        complete = data.v[~data.v.isnan().any(1)]
        old = [self.observed_] if more else []
        self.observed_ = torch.cat([*old, complete]).unique(dim=0)

    @torch.no_grad()
    def _log_probability(self, u: Tensor, v: Tensor) -> Tensor:
        members = []
        for model in self.models_:
            energy = model.condition(u)
            score = -energy.free_energy(v)
            if v.isnan().any():  # unknown labels: sum over all that agree
                score = log_partition(energy.clamp(v))
            members.append(score - log_partition(energy))
        return torch.stack(members).logsumexp(0) - torch.tensor(len(members)).log()

    @torch.no_grad()
    def _top_k(self, u: Tensor, k: int, known: Tensor | None) -> tuple[Tensor, Tensor]:
        width = max(self.n_labels_, getattr(self, "n_hidden", 1))
        n_rows = max(1, LARGEST_TABLE // (len(self.observed_) * width))
        found = []
        for rows in torch.arange(len(u)).split(n_rows):
            given = None if known is None else known[rows]
            found.append(self._compared(u[rows], k, given))
        labels, probability = zip(*found, strict=True)
        return torch.cat(labels), torch.cat(probability)

    def _compared(
        self, u: Tensor, k: int, known: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        rounded = (self._marginals(u, known) > 0.5).to(u)
        seen = (self.observed_ == rounded[:, None]).all(-1).any(-1)
        chance = u.new_zeros(len(u), len(self.observed_) + 1)
        for model in self.models_:
            energy = model.condition(u)
            log_z = log_partition(energy.clamp(known))[:, None]
            table = exact.scores(energy, self.observed_)[1]
            table = table.masked_fill(self._contradicts(known), -torch.inf)
            extra = -energy.free_energy(rounded)[:, None]
            extra = extra.masked_fill(seen[:, None], -torch.inf)
            chance += torch.exp(torch.cat([table, extra], 1) - log_z)
        best = (chance / len(self.models_)).topk(min(k, chance.shape[1]))
        sets = torch.cat([self.observed_, self.observed_[:1]])[best.indices]
        is_extra = (best.indices == len(self.observed_))[..., None]
        sets = torch.where(is_extra, rounded[:, None], sets)
        return sets * (best.values > 0)[..., None], best.values

    def _contradicts(self, known: Tensor | None) -> Tensor:
        """Which of the observed sets disagree with the known labels of each case."""
        if known is None:
            return torch.tensor(False)
        wanted = known[:, None]
        return ((self.observed_ != wanted) & ~wanted.isnan()).any(-1)
