"""The named tuples that models, inference, objectives and training meet at."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor


class Candidates(NamedTuple):
    """The likely outputs V(u) of each case.

    Parameters
    ----------
    table
        Either a set per case, (batch, candidates, visible), or one table of distinct
        outputs, (rows, visible), that `ids` points into. A table without `ids` is the
        set of every case: the paper's V.
    mask
        True where a candidate is real and not padding; None when all are.
    ids
        Rows of the table that are candidates of each case.
    log_base
        The log of a base measure on the candidates, added to -F of each: one number
        per row of a shared table, (rows,), otherwise (batch, candidates). None is 0.
    """

    table: Float[Tensor, "... visible"]
    mask: Bool[Tensor, "batch candidates"] | None = None
    ids: Int[Tensor, "batch candidates"] | None = None
    log_base: Float[Tensor, "..."] | None = None

    @classmethod
    def of(cls, candidates: Candidates | Tensor) -> Candidates:
        """A bare table as candidates."""
        return cls(candidates) if isinstance(candidates, Tensor) else candidates

    def select(self, cases: Int[Tensor, " chosen"] | slice) -> Candidates:
        """The candidates of the chosen cases; a shared table stays shared."""
        shared = self.table.ndim == 2
        log_base = self.log_base
        if log_base is not None and not shared:
            log_base = _rows(log_base, cases)
        return Candidates(
            self.table if shared else _rows(self.table, cases),
            None if self.mask is None else _rows(self.mask, cases),
            None if self.ids is None else _rows(self.ids, cases),
            log_base,
        )


class Batch(NamedTuple):
    """Training cases: inputs u, outputs v and, where they are limited, V(u).

    Parameters
    ----------
    u
        Inputs, one row (or image) per case; None for a model without inputs.
    v
        Outputs, one row (or image) per case; NaN marks an output that is not known.
    candidates
        The likely outputs V(u): `Candidates`, or a bare tensor of them.
    weight
        How much each case counts; None counts all alike.
    rows
        Where the cases are in the training data, for objectives that keep something for
        each case. The training loop sets it where the data have an order.
    """

    u: Float[Tensor, "batch ..."] | None
    v: Float[Tensor, "batch ..."]
    candidates: Candidates | Float[Tensor, "... visible"] | None = None
    weight: Float[Tensor, " batch"] | None = None
    rows: Int[Tensor, " batch"] | None = None

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return len(self.v)

    def select(self, cases: Int[Tensor, " chosen"] | slice) -> Batch:
        """The chosen cases; a shared table of candidates stays shared."""
        candidates = self.candidates
        return Batch(
            None if self.u is None else _rows(self.u, cases),
            _rows(self.v, cases),
            None if candidates is None else Candidates.of(candidates).select(cases),
            None if self.weight is None else _rows(self.weight, cases),
            None if self.rows is None else _rows(self.rows, cases),
        )


@runtime_checkable
class Cases(Protocol):
    """Anything that mini-batches can be drawn from; a `Batch` is one itself."""

    @property
    def u(self) -> Tensor | None:
        """Inputs of all cases."""
        ...

    @property
    def v(self) -> Tensor:
        """Outputs of all cases."""
        ...

    @property
    def weight(self) -> Tensor | None:
        """How much each case counts."""
        ...

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        ...

    def select(self, cases: Int[Tensor, " chosen"] | slice) -> Batch:
        """The chosen cases as a batch."""
        ...


class ChainState(NamedTuple):
    """One state of a Gibbs chain; `v` was drawn given `h`."""

    v: Float[Tensor, "*batch visible"]
    h: Float[Tensor, "*batch hidden"]


class Marginals(NamedTuple):
    """The (estimated) p(v_i = 1 | u), and how far the last step still moved them."""

    v: Float[Tensor, "*batch visible"]
    delta: Float[Tensor, "*batch"]


class Moments(NamedTuple):
    """The (estimated) first and second moments of p(v | u); the diagonal of vv is v."""

    v: Float[Tensor, "*batch visible"]
    vv: Float[Tensor, "*batch visible visible"]
    delta: Float[Tensor, "*batch"]


class Found(NamedTuple):
    """The state a search settled on, and its free energy."""

    v: Float[Tensor, "*batch visible"]
    free_energy: Float[Tensor, "*batch"]


class Evaluated(NamedTuple):
    """States with their free energy.

    `cache` is what the energy computed on the way (the means of the hidden units). It
    saves the next Gibbs step and the gradient a product; nobody else looks inside.
    """

    v: Float[Tensor, "*states visible"]
    free_energy: Float[Tensor, "*states"]
    cache: Tensor | None = None


class EvaluatedRows(NamedTuple):
    """The free energy of rows of a shared table, and the energy's cache."""

    free_energy: Float[Tensor, "batch states"]
    cache: Any = None


class Estimate(NamedTuple):
    """A number and the standard error of its estimate."""

    value: Float[Tensor, "*batch"]
    standard_error: Float[Tensor, "*batch"]


class States(NamedTuple):
    """A weighted set of states for each case: what one phase averages over.

    Parameters
    ----------
    v
        One state per case, (batch, visible); several, (batch, states, visible);
        or, with `ids`, a table (rows, visible) that the cases share.
    weight
        (batch,) for one state per case, otherwise (batch, states). None is 1.
    ids
        Rows of the table, (batch, states).
    cache
        What the energy computed when it evaluated the states; see `Evaluated`.
    """

    v: Float[Tensor, "... visible"]
    weight: Float[Tensor, batch * states] | None = None
    ids: Int[Tensor, "batch states"] | None = None
    cache: Any = None

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return len(self.v if self.ids is None else self.ids)


class Contrast(NamedTuple):
    """What an objective names: lower F at `positive`, raise it at `negative`.

    The gradient is that of F averaged over `positive` minus that of F averaged over
    `negative`; every objective of the paper has this form. `Moments` replace states
    where F is linear in v and vv, as in a CRF: its mean gradient depends on nothing
    else.

    `loss` is the number the objective lowers, one per case. It is reported, never
    differentiated.
    """

    positive: States | Moments
    negative: States | Moments
    loss: Float[Tensor, " batch"] | None = None

    @classmethod
    def pair(
        cls, positive: Tensor | Evaluated, negative: Tensor | Evaluated
    ) -> Contrast:
        """One state against one other per case."""
        loss = None
        if isinstance(positive, Evaluated) and isinstance(negative, Evaluated):
            loss = positive.free_energy - negative.free_energy
        return cls(_single(positive), _single(negative), loss)

    def weighted(self, weight: Float[Tensor, " batch"]) -> Contrast:
        """The same contrast with each case counted `weight` times."""
        loss = None if self.loss is None else self.loss * weight
        return Contrast(
            _weigh(self.positive, weight), _weigh(self.negative, weight), loss
        )


def _rows(field: Tensor, cases: Tensor | slice) -> Tensor:
    if isinstance(cases, slice):
        return field[cases]
    return field.index_select(0, cases)  # three times faster than field[cases]


def _single(state: Tensor | Evaluated) -> States:
    if isinstance(state, Evaluated):
        return States(state.v, cache=state.cache)
    return States(state)


def _weigh(phase: States | Moments, weight: Tensor) -> States | Moments:
    if isinstance(phase, Moments):
        return phase._replace(
            v=phase.v * weight[:, None], vv=phase.vv * weight[:, None, None]
        )
    if phase.weight is not None:
        trailing = [1] * (phase.weight.ndim - 1)
        return phase._replace(weight=phase.weight * weight.reshape(-1, *trailing))
    if phase.ids is None and phase.v.ndim == 2:
        return phase._replace(weight=weight)
    shape = (phase.v if phase.ids is None else phase.ids).shape[:2]
    return phase._replace(weight=weight[:, None].expand(shape))
