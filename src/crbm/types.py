"""The named tuples that models, inference, objectives and training meet at."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor


class Batch(NamedTuple):
    """Training cases: inputs u, outputs v and, where they are limited, V(u).

    Parameters
    ----------
    u
        Inputs, one row per case; None for a model without inputs.
    v
        Binary outputs, one row per case; NaN marks a label that is not known.
    candidates
        The likely outputs V(u): either a set per case, (batch, candidates, visible),
        or one table of distinct outputs, (rows, visible), that `ids` points into.
        A table without `ids` is the set of every case: the paper's V.
    mask
        True where a candidate is real and not padding; None when all are.
    ids
        Rows of the table that are candidates of each case.
    weight
        How much each case counts; None counts all alike.
    """

    u: Float[Tensor, "batch inputs"] | None
    v: Float[Tensor, "batch visible"]
    candidates: Float[Tensor, ...] | None = None
    mask: Bool[Tensor, "batch candidates"] | None = None
    ids: Int[Tensor, "batch candidates"] | None = None
    weight: Float[Tensor, " batch"] | None = None

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return len(self.v)

    def select(self, cases: Int[Tensor, " chosen"] | slice) -> Batch:
        """The chosen cases; a shared table of candidates stays shared."""

        def rows(field: Tensor | None) -> Tensor | None:
            return None if field is None else _rows(field, cases)

        shared = self.candidates is not None and self.candidates.ndim == 2
        return Batch(
            rows(self.u),
            _rows(self.v, cases),
            self.candidates if shared else rows(self.candidates),
            rows(self.mask),
            rows(self.ids),
            rows(self.weight),
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


class RowLogits(NamedTuple):
    """Log-odds of h for rows of a shared table, in two parts that add up.

    Their sum, one row of hidden units for each case and candidate, is the largest thing
    in learning from candidates, and never has to be made.

    Parameters
    ----------
    by_row
        What each row of the table contributes.
    by_case
        What the input of each case contributes.
    """

    by_row: Float[Tensor, "rows hidden"]
    by_case: Float[Tensor, "batch hidden"]


class Evaluated(NamedTuple):
    """States with their free energy and the p(h = 1 | v) that came with it.

    These means serve the next Gibbs step and the gradient too, so they travel with the
    state instead of being computed again. An energy without hidden units leaves them
    None.
    """

    v: Float[Tensor, "*states visible"]
    free_energy: Float[Tensor, "*states"]
    hidden_means: Float[Tensor, "*states hidden"] | None = None


class EvaluatedRows(NamedTuple):
    """The free energy of rows of a shared table, and the log-odds of h behind it."""

    free_energy: Float[Tensor, "batch states"]
    logits: RowLogits | None = None


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
    hidden_means
        The p(h = 1 | v) of the states where they are known: shape of the states with
        the hidden units last.
    row_logits
        With `ids`, the log-odds of h where they are known.
    """

    v: Float[Tensor, "... visible"]
    weight: Float[Tensor, batch * states] | None = None
    ids: Int[Tensor, "batch states"] | None = None
    hidden_means: Float[Tensor, "batch *states hidden"] | None = None
    row_logits: RowLogits | None = None

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return len(self.v if self.ids is None else self.ids)


class Contrast(NamedTuple):
    """What an objective names: lower F at `positive`, raise it at `negative`.

    The gradient is that of F averaged over `positive` minus that of F averaged over
    `negative`; every learning rule of the paper has this form. `Moments` can stand for
    states where F is linear in v and vv, as in a CRF: its gradient, averaged over any
    distribution, depends on nothing else.

    `loss` is the number the rule lowers, one per case: it is for watching, never
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
        return States(state.v, hidden_means=state.hidden_means)
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
