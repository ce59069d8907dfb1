"""Contrastive divergence, from the data and from chains that persist."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from torch import Generator, Tensor

from crbm import checks
from crbm.energies import Energy
from crbm.inference import gibbs
from crbm.objectives.base import (
    PRECISIONS,
    added_later,
    for_chain,
    impute,
    sample,
)
from crbm.objectives.case_chains import CaseChains
from crbm.objectives.memory import number_rows
from crbm.types import Batch, Contrast, Evaluated


@dataclass(frozen=True)
class ContrastiveDivergence:
    """The data against the end of a short Gibbs chain started at it.

    The gap it lowers is not a likelihood: do not compare it across models.

    Parameters
    ----------
    n_steps
        Length of the chain; the k of CD-k.
    precision
        Of the chain's products: "bf16" is faster where the processor multiplies in
        bfloat16 and far slower elsewhere. Free energies and gradients stay full.

    Notes
    -----
    F(v, u) - F(v_k, u) with v_k held constant [1]_, Eq. 13.
    """

    short_name: ClassVar[str] = "cd"

    n_steps: int = 1
    precision: str = "full"

    def __post_init__(self) -> None:
        checks.whole_number("n_steps", self.n_steps, at_least=1)
        checks.one_of("precision", self.precision, PRECISIONS)

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        by = partial(sample, n_steps=self.n_steps, generator=generator)
        data = energy.evaluate(impute(energy, batch.v, by))
        end = gibbs.run(
            for_chain(energy, self.precision),
            data.v,
            n_steps=self.n_steps,
            generator=generator,
            cache=data.cache,
        )
        return Contrast.pair(data, energy.evaluate(end.v))


@dataclass(frozen=True)
class PersistentContrastiveDivergence:
    """The data against chains that continue from update to update.

    Without `per_case` only for models without inputs: each u has its own distribution,
    so chains cannot persist across cases [1]_, Section 3. The chains belong to a run:
    `start` makes new ones; a call without `start` begins at the data.

    Parameters
    ----------
    n_steps
        Gibbs steps per update.
    per_case
        Whether each training case has a chain of its own, which moves when the case is
        visited. That allows inputs, but between two visits the weights change, so the
        chains lag behind the model; the paper rejects it for this reason. It is here
        for comparison.

    Notes
    -----
    [1]_, Section 2.3, after Tieleman (2008).
    """

    n_steps: int = 1
    per_case: bool = added_later(False)

    def __post_init__(self) -> None:
        checks.whole_number("n_steps", self.n_steps, at_least=1)

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        return self.start()(energy, number_rows(batch), generator)

    def start(self) -> PersistentChains | CaseChains:
        """The objective with new chains, for one run."""
        return CaseChains(self) if self.per_case else PersistentChains(self)


class PersistentChains:
    """Persistent contrastive divergence with the chains of one run."""

    def __init__(self, origin: PersistentContrastiveDivergence) -> None:
        self.origin = origin
        self.chains: list[Tensor] = []

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        if energy.batch_shape:
            raise ValueError(
                "Persistent chains need one distribution for all cases, but a "
                "conditional model has a different p(v|u) for each u, so the chain of "
                "one case is no sample for the next. "
                "Use Perceptron or ContrastiveDivergence, or `per_case=True`."
            )
        n_steps = self.origin.n_steps
        by = partial(sample, n_steps=n_steps, generator=generator)
        data = energy.evaluate(impute(energy, batch.v, by))
        n_chains = len(data.v)
        self._check_chains(data)
        if not self.chains or len(self.chains[0]) < n_chains:
            self.chains = [part.clone() for part in _chain(data)]
        start, *caches = (part[:n_chains] for part in self.chains)
        end = energy.evaluate(
            gibbs.run(
                energy,
                start,
                n_steps=n_steps,
                generator=generator,
                cache=caches[0] if caches else None,
            ).v
        )
        if len(self.chains[0]) == n_chains:
            self.chains = _chain(end)
        else:  # the others wait for a larger batch
            for part, new in zip((start, *caches), _chain(end), strict=True):
                part.copy_(new)
        return Contrast.pair(data, end)

    def _check_chains(self, data: Evaluated) -> None:
        """Refuse chains of a checkpoint that are not of this model."""
        new = _chain(data)
        if self.chains and [_kind(c) for c in self.chains] != [_kind(c) for c in new]:
            raise ValueError("The stored chains are not states of this model.")

    def state(self) -> dict[str, Tensor]:
        """The chains, for a checkpoint."""
        return {str(place): chains for place, chains in enumerate(self.chains)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue with the chains of a checkpoint."""
        chains = [state[str(place)] for place in range(len(state))]
        if any(part.ndim != 2 or len(part) != len(chains[0]) for part in chains):
            raise ValueError("The stored chains do not fit together.")
        self.chains = chains


def _kind(part: Tensor) -> tuple[Any, ...]:
    return part.dtype, *part.shape[1:]


def _chain(state: Evaluated) -> list[Tensor]:
    """The chain state between updates: v and the cache of its evaluation.

    The cache is one update old, which saves a product.
    """
    return [part for part in (state.v, state.cache) if part is not None]
