"""Exact answers by enumeration: of all outputs, of all hidden states, or of V(u)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from crbm import checks
from crbm.energies import Energy, is_bipartite
from crbm.inference import enumeration
from crbm.inference.enumeration import all_states as all_states
from crbm.types import Candidates, Found, Marginals, States


def log_partition(
    energy: Energy,
    *,
    candidates: Candidates | Tensor | None = None,
) -> Float[Tensor, "*batch"]:
    """Log Z: the log of the sum of exp(-F) over all outputs, or over candidates.

    Examples
    --------
    >>> import crbm, torch
    >>> energy = crbm.RBM(n_visible=3, n_hidden=2).condition()
    >>> log_z = log_partition(energy)
    >>> states = all_states(3)
    >>> round(torch.exp(-energy.free_energy(states) - log_z).sum().item(), 4)
    1.0
    """
    if candidates is not None:
        return scores(energy, candidates)[1].logsumexp(-1)
    return enumeration.sums(energy)[0]


def marginals(
    energy: Energy,
    *,
    candidates: Candidates | Tensor | None = None,
) -> Marginals:
    """p(v_i = 1 | u) over all outputs, or over the candidates V(u) [1]_, Eq. 16."""
    if candidates is None:
        v = enumeration.sums(energy)[1]
    else:
        v = average(distribution(energy, candidates=candidates))
    if energy.visible.is_finite:
        v = v.clamp(0, 1)  # sums of many shares may round to a little above 1
    if energy.known is not None:
        v = torch.where(energy.known.isnan(), v, energy.known)
    return Marginals(v, v.new_zeros(v.shape[:-1]))


def mode(
    energy: Energy,
    *,
    candidates: Candidates | Tensor | None = None,
) -> Found:
    """The single most likely output, over all outputs or over the candidates."""
    if candidates is None:
        return enumeration.mode(energy)
    states, score = scores(energy, candidates)
    highest, best = score.max(-1)
    return Found(_pick(states, best), -highest)


def sample(
    energy: Energy, n_samples: int, generator: Generator | None = None
) -> Float[Tensor, "samples batch visible"]:
    """Independent samples of p(v | u), where the hidden states can be enumerated.

    A hidden state is drawn from p(h), then the outputs, which are independent given it.

    Examples
    --------
    >>> import crbm, torch
    >>> energy = crbm.CRBM(4, 3, 2).condition(torch.ones(5, 4))
    >>> sample(energy, 7).shape
    torch.Size([7, 5, 3])
    """
    checks.whole_number("n_samples", n_samples, at_least=1)
    if energy.is_independent:
        field = energy.independent_field().expand(n_samples, *energy.batch_shape, -1)
        return energy.visible.sample(field, generator, energy.known)
    if not is_bipartite(energy):
        raise TypeError(
            "Independent samples need a model with hidden units; got "
            f"{type(energy).__name__}. Use gibbs.run."
        )
    enumeration.check_size("n_hidden", energy.hidden, energy.n_hidden)
    p = enumeration.hidden_scores(energy).softmax(-1)
    if p.isnan().any():
        raise ValueError("The inputs overflow in this model. Scale them.")
    rows = p.reshape(-1, p.shape[-1])
    drawn = torch.multinomial(rows, n_samples, replacement=True, generator=generator)
    like = energy.independent_field()
    states = enumeration.layer_states(energy.hidden, energy.n_hidden, like=like)
    h = states[drawn].movedim(1, 0).reshape(n_samples, *p.shape[:-1], -1)
    return energy.sample_visible(h, generator)


def log_probability(
    energy: Energy,
    v: Float[Tensor, "*batch visible"],
    *,
    candidates: Candidates | Tensor | None = None,
) -> Float[Tensor, "*batch"]:
    """Log p(v | u); minus infinity outside the candidates, or against a clamp.

    [1]_, Eq. 11 over all outputs, Eq. 14 over V and Eq. 15 over V(u).
    """
    possible = torch.as_tensor(energy.allows(v), device=v.device)
    if candidates is None:
        score = -energy.free_energy(v) - log_partition(energy)
        return torch.where(possible, score, -torch.inf)
    states, scored = scores(energy, candidates)
    same = (dense(states) == v[..., None, :]).all(-1) & possible[..., None]
    return scored.masked_fill(~same, -torch.inf).amax(-1) - scored.logsumexp(-1)


def distribution(
    energy: Energy,
    *,
    candidates: Candidates | Tensor | None = None,
) -> States:
    """All outputs, or the candidates, weighted by p(v | u) [1]_, Eqs. 14 and 15."""
    states, score = scores(energy, candidates)
    return states._replace(weight=score.softmax(-1))


def scores(
    energy: Energy, candidates: Candidates | Tensor | None = None
) -> tuple[States, Float[Tensor, "batch candidates"]]:
    """The candidates, or all outputs, and -F of each; -inf where one does not count.

    The log of the candidates' base measure, if they have one, is added to -F.
    """
    if candidates is None:
        candidates = _everything(energy)
    table, mask, ids, log_base = Candidates.of(candidates)
    checks.columns("candidates", table, energy.n_visible, "output")
    if table.ndim == 2:
        if ids is None:
            n_cases = energy.batch_shape[0] if energy.batch_shape else 1
            ids = torch.arange(len(table), device=table.device).expand(n_cases, -1)
        rows = energy.evaluate_rows(table, ids)
        score, states = -rows.free_energy, States(table, ids=ids, cache=rows.cache)
    else:
        evaluated = energy.with_state_axis().evaluate(table)
        score, states = -evaluated.free_energy, States(table, cache=evaluated.cache)
    if log_base is not None:
        score = score + (log_base[ids] if table.ndim == 2 else log_base)
    counts = _counting(energy, states, mask)
    if counts is None:
        return states, score
    if not counts.any(-1).all():
        case = int((~counts.any(-1)).nonzero()[0, 0])
        raise ValueError(
            f"Every case needs at least one candidate; case {case} has none that is "
            "real and agrees with the known outputs. Widen the candidate set."
        )
    return states, score.masked_fill(~counts, -torch.inf)


def _everything(energy: Energy) -> Tensor:
    """All outputs as a table."""
    enumeration.check_size("n_visible", energy.visible, energy.n_visible)
    like = energy.independent_field()
    return enumeration.layer_states(energy.visible, energy.n_visible, like=like)


def _counting(energy: Energy, states: States, mask: Tensor | None) -> Tensor | None:
    if energy.known is None:
        return mask
    agrees = torch.as_tensor(energy.with_state_axis().allows(dense(states)))
    return agrees if mask is None else agrees & mask


def dense(states: States) -> Float[Tensor, "batch states visible"]:
    """The states of each case themselves, looked up where they share a table."""
    return states.v if states.ids is None else states.v[states.ids]


def _pick(states: States, best: Tensor) -> Tensor:
    if states.ids is not None:
        return states.v[states.ids.gather(-1, best[..., None]).squeeze(-1)]
    where = best[..., None, None].expand(*best.shape, 1, states.v.shape[-1])
    return states.v.expand(*best.shape, -1, -1).gather(-2, where).squeeze(-2)


def average(states: States) -> Float[Tensor, "*batch visible"]:
    """The weighted mean of each case's states."""
    assert states.weight is not None
    if states.ids is None:
        return (states.weight[..., None, :] @ states.v).squeeze(-2)
    return weight_by_row(states) @ states.v


def weight_by_row(states: States) -> Float[Tensor, "batch rows"]:
    """The weight of each row of a shared table; 0 for rows that are not states."""
    assert states.ids is not None
    assert states.weight is not None
    by_row = states.v.new_zeros(len(states.ids), len(states.v))
    return by_row.scatter_add_(1, states.ids, states.weight)
