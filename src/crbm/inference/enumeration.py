"""Sums and maxima over all states of a layer, in chunks of bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor

from crbm.energies import BipartiteEnergy, Energy, is_bipartite
from crbm.types import Found, States
from crbm.units import BERNOULLI, Units

LARGEST_LAYER = 20  # binary units
MOST_HIDDEN_STATES = 2**12  # held in memory at once by `joint_states`
CHUNK_ELEMENTS = 2**22  # numbers in the largest temporary: 16 MB in float32


def all_states(
    n_units: int, *, like: Tensor | None = None, start: int = 0, stop: int | None = None
) -> Float[Tensor, "states units"]:
    """All 2^n binary vectors in counting order, the first unit the highest bit."""
    like = torch.empty(0) if like is None else like
    return layer_states(BERNOULLI, n_units, like=like, start=start, stop=stop)


def layer_states(
    units: Units,
    n_numbers: int,
    *,
    like: Tensor,
    start: int = 0,
    stop: int | None = None,
) -> Float[Tensor, "states numbers"]:
    """All states of a layer in counting order, or those from `start` to `stop`."""
    values = [
        kind.states(like)
        for kind, size in units.layer(n_numbers)
        for _ in range(size // kind.width)
    ]
    stop = math.prod(len(own) for own in values) if stop is None else stop
    rest = torch.arange(start, stop, device=like.device)
    columns = []
    for own in reversed(values):
        columns.append(own[rest % len(own)])
        rest = rest // len(own)
    return torch.cat([like.new_empty(stop - start, 0), *reversed(columns)], -1)


def sums(energy: Energy) -> tuple[Tensor, Tensor]:
    """Log Z and the means of v, over whichever layer has fewer states."""
    if is_bipartite(energy) and _has_fewer_hidden_states(energy):
        check_size(
            "the smaller of n_visible and n_hidden", energy.hidden, energy.n_hidden
        )
        chunks = _hidden_chunks(energy)
    else:
        check_size("n_visible", energy.visible, energy.n_visible)
        chunks = _visible_chunks(energy)
    log_z = energy.independent_field().new_full(energy.batch_shape, -torch.inf)
    mean = torch.zeros_like(energy.independent_field())
    for scores, means in chunks:
        before, log_z = log_z, torch.logaddexp(log_z, scores.logsumexp(-1))
        # finite even where nothing so far agrees with the known outputs
        level = log_z.clamp(min=torch.finfo(log_z.dtype).min)
        share = torch.exp(scores - level[..., None])[..., None, :]
        mean = mean * torch.exp(before - level)[..., None] + (share @ means).squeeze(-2)
    return log_z, mean


def joint_states(energy: BipartiteEnergy) -> tuple[States, Float[Tensor, " batch"]]:
    """All hidden states of each case, weighted by p(h), and log Z.

    A state of the result is E[v | h] with h as its cache. The gradient of F averaged
    over these is that averaged over p(v), since both are linear in v and v h.
    """
    per_state = energy.with_state_axis()
    like = energy.independent_field()
    h = layer_states(energy.hidden, energy.n_hidden, like=like)
    scores, means = _given_hidden(per_state, h)
    weight = scores.softmax(-1)
    cache = h.expand(*weight.shape, -1)
    return States(means, weight, cache=cache), scores.logsumexp(-1)


def hidden_scores(energy: BipartiteEnergy) -> Float[Tensor, "batch states"]:
    """log sum_v exp(-E(v, h)) of all hidden states, in their counting order."""
    return torch.cat([scores for scores, _ in _hidden_chunks(energy)], -1)


def mode_given_hidden(energy: BipartiteEnergy) -> Found:
    """The lowest F among the modes of v given each hidden state.

    The mode of p(v) is close to one of them where the hidden units explain most of how
    outputs depend on each other.
    """
    best = energy.independent_field().new_full(energy.batch_shape, torch.inf)
    v_best = torch.zeros_like(energy.independent_field())
    for _, means in _hidden_chunks(energy):
        v = energy.visible.round(means)
        free_energy = energy.with_state_axis().free_energy(v)
        lowest, where = free_energy.min(-1)
        chosen = v.gather(
            -2, where[..., None, None].expand(*where.shape, 1, v.shape[-1])
        )
        v_best = torch.where((lowest < best)[..., None], chosen.squeeze(-2), v_best)
        best = best.minimum(lowest)
    return Found(v_best, best)


def has_few_hidden_states(energy: Energy) -> TypeGuard[BipartiteEnergy]:
    """Whether `joint_states` is possible, and cheaper than enumerating the outputs."""
    return (
        is_bipartite(energy)
        and _has_fewer_hidden_states(energy)
        and energy.hidden.n_states(energy.n_hidden) <= MOST_HIDDEN_STATES
    )


def mode(energy: Energy) -> Found:
    """The state of lowest free energy."""
    check_size("n_visible", energy.visible, energy.n_visible)
    best = energy.independent_field().new_full(energy.batch_shape, -torch.inf)
    v_best = torch.zeros_like(energy.independent_field())
    for scores, v in _visible_chunks(energy):
        score, where = scores.max(-1)
        better = score > best
        best = torch.where(better, score, best)
        v_best = torch.where(better[..., None], v[where], v_best)
    return Found(v_best, -best)


def is_enumerable(energy: Energy) -> bool:
    """Whether `sums` can be computed: one layer has few enough states."""
    n_states = energy.visible.n_states(energy.n_visible)
    if is_bipartite(energy):
        n_states = min(n_states, energy.hidden.n_states(energy.n_hidden))
    return n_states <= 2**LARGEST_LAYER


def check_size(name: str, units: Units, n_numbers: int) -> None:
    """Refuse a layer with too many states to enumerate."""
    for kind, _ in units.layer(n_numbers):
        kind.states(torch.empty(0))  # raises for real values, and says why
    n_bits = units.n_bits(n_numbers)
    if n_bits > LARGEST_LAYER:
        raise ValueError(
            f"Enumeration needs {name} of at most {LARGEST_LAYER}; got "
            f"{units.n_units(n_numbers)}, which would mean 2^{n_bits:.0f} states. Pass "
            "`candidates`, or use mean_field, loopy_bp or gibbs."
        )


def _has_fewer_hidden_states(energy: BipartiteEnergy) -> bool:
    n_hidden_states = energy.hidden.n_states(energy.n_hidden)
    return n_hidden_states < energy.visible.n_states(energy.n_visible)


def _visible_chunks(energy: Energy) -> Iterator[tuple[Tensor, Tensor]]:
    """-F of all v, in pieces, and the v themselves."""
    per_state = energy.with_state_axis()
    for v in _state_chunks(energy, energy.visible, energy.n_visible):
        scores = -per_state.free_energy(v)
        allowed = torch.as_tensor(per_state.allows(v), device=v.device)
        yield torch.where(allowed, scores, -torch.inf), v


def _hidden_chunks(energy: BipartiteEnergy) -> Iterator[tuple[Tensor, Tensor]]:
    """log sum_v exp(-E(v, h)) of all h, in pieces, and the means of v given h."""
    per_state = energy.with_state_axis()
    for h in _state_chunks(energy, energy.hidden, energy.n_hidden):
        yield _given_hidden(per_state, h)


def _given_hidden(per_state: BipartiteEnergy, h: Tensor) -> tuple[Tensor, Tensor]:
    """log sum_v exp(-E(v, h)) and E[v | h] of hidden states."""
    field, units = per_state.visible_field(h), per_state.visible
    bias = (h * per_state.hidden_bias).sum(-1) + per_state.hidden.log_base(h)
    if per_state.known is None:
        visible, means = units.log_partition_and_mean(field)
        return visible + bias, means
    visible = units.log_partition(field, per_state.known)
    return visible + bias, units.mean(field, per_state.known)


def _state_chunks(energy: Energy, units: Units, n_numbers: int) -> Iterator[Tensor]:
    like = energy.independent_field()
    width = max(like.shape[-1], energy.n_hidden)
    rows = max(1, like[..., 0].numel())
    size = max(1, CHUNK_ELEMENTS // (rows * width))
    n_states = int(units.n_states(n_numbers))
    for start in range(0, n_states, size):
        stop = min(start + size, n_states)
        yield layer_states(units, n_numbers, like=like, start=start, stop=stop)
