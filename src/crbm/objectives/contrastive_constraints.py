"""Contrastive constraint generation: the data against the predictions so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Generator, Tensor

from crbm import checks
from crbm.energies import Energy
from crbm.inference import search
from crbm.objectives import base
from crbm.objectives.memory import CaseMemory, number_rows, rows_of
from crbm.types import Batch, Contrast, Evaluated, States


@dataclass(frozen=True)
class ContrastiveConstraints:
    """The data against wrong predictions that were made for the same case before.

    Each visit of a case adds the prediction of the present model to a set of states
    that this case must be more likely than. Where the set is full, the least likely
    state makes room. The sets belong to a run: `start` makes new ones.

    Parameters
    ----------
    n_constraints
        States per case. Memory grows with it and with the number of cases.
    n_steps
        Gibbs steps of the search for a prediction.

    Notes
    -----
    -log p(v | u) over the data and the states of its set, after contrastive constraint
    generation [2]_, which [1]_, Section 3, calls the most closely related method. There
    all sets grow between batch optimisations; here each grows when its case is visited.

    References
    ----------
    .. [2] D. Vickrey, C. Lin and D. Koller, "Non-local contrastive objectives", ICML
       2010.

    Examples
    --------
    >>> import crbm
    >>> u, v = torch.ones(5, 4), torch.zeros(5, 3)
    >>> energy, objective = crbm.CRBM(4, 3, 2).condition(u), ContrastiveConstraints()
    >>> contrast = objective(energy, Batch(u, v), torch.Generator().manual_seed(0))
    >>> bool((contrast.loss <= torch.tensor(3.0).log()).all())  # of at most 2 states
    True
    """

    short_name: ClassVar[str] = "constraints"

    n_constraints: int = 10
    n_steps: int = 10

    def __post_init__(self) -> None:
        checks.whole_number("n_constraints", self.n_constraints, at_least=1)
        checks.whole_number("n_steps", self.n_steps, at_least=1)

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        return self.start()(energy, number_rows(batch), generator)

    def start(self) -> ConstraintSets:
        """The objective with empty sets, for one run."""
        return ConstraintSets(self)


class ConstraintSets:
    """Contrastive constraint generation with the sets of one run."""

    def __init__(self, origin: ContrastiveConstraints) -> None:
        self.origin, self.memory = origin, CaseMemory(origin.n_constraints)

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        rows, energy = rows_of(batch), energy.expand(batch.n_cases)
        n_steps = self.origin.n_steps
        by = partial(search.gibbs, n_steps=n_steps, generator=generator)
        v = base.impute(energy, batch.v, by)
        found = search.gibbs(energy, n_steps=n_steps, generator=generator).v
        stored, exists = self.memory.read(rows, v, energy.visible)
        is_new = _differs(found, v[:, None], torch.ones_like(exists[:, :1]))
        is_new &= _differs(found, stored, exists)
        states = torch.cat([v[:, None], stored, found[:, None]], 1)
        counts = torch.cat([torch.ones_like(exists[:, :1]), exists, is_new[:, None]], 1)
        evaluated = energy.with_state_axis().evaluate(states)
        self._remember(rows, found, is_new, exists, evaluated.free_energy[:, 1:-1])
        return _against_set(evaluated, counts)

    def _remember(
        self,
        rows: Tensor,
        found: Tensor,
        is_new: Tensor,
        exists: Tensor,
        free_energy: Tensor,
    ) -> None:
        """Add new states; where a set is full, its least likely state makes room."""
        n_stored = exists.sum(1)
        is_full = n_stored == self.memory.n_states
        places = torch.where(is_full, free_energy.argmax(1), n_stored)
        self.memory.write(rows[is_new], places[is_new], found[is_new])

    def state(self) -> dict[str, Tensor]:
        """The sets, for a checkpoint."""
        return self.memory.state()

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue with the sets of a checkpoint."""
        self.memory.restore(state)


def _differs(v: Tensor, states: Tensor, exists: Tensor) -> Tensor:
    """Whether v is none of the states that exist."""
    return ~((v[:, None] == states).all(-1) & exists).any(1)


def _against_set(evaluated: Evaluated, counts: Tensor) -> Contrast:
    """The first state against all that count, weighted by their probability."""
    scores = (-evaluated.free_energy).masked_fill(~counts, -torch.inf)
    cache = evaluated.cache
    data = States(evaluated.v[:, 0], cache=None if cache is None else cache[:, 0])
    states = States(evaluated.v, scores.softmax(1), cache=cache)
    return Contrast(data, states, scores.logsumexp(1) - scores[:, 0])
