"""Sums and maxima over all states of a layer, in chunks of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from crbm.energies import BipartiteEnergy, Energy
from crbm.types import Found

LARGEST_LAYER = 20
CHUNK_ELEMENTS = 2**22  # numbers in the largest temporary: 16 MB in float32


def all_states(
    n_units: int, *, like: Tensor | None = None, start: int = 0, stop: int | None = None
) -> Float[Tensor, "states units"]:
    """All 2^n binary vectors in counting order, the first unit the highest bit."""
    like = torch.empty(0) if like is None else like
    stop = 2**n_units if stop is None else stop
    numbers = torch.arange(start, stop, device=like.device)[:, None]
    places = torch.arange(n_units - 1, -1, -1, device=like.device)
    return ((numbers >> places) & 1).to(like.dtype)


def sums(energy: Energy) -> tuple[Tensor, Tensor]:
    """Log Z and the means of v, over whichever layer is smaller."""
    through_hidden = (
        isinstance(energy, BipartiteEnergy) and energy.n_hidden < energy.n_visible
    )
    if through_hidden:
        assert isinstance(energy, BipartiteEnergy)
        check_size("the smaller of n_visible and n_hidden", energy.n_hidden)
        chunks = _hidden_chunks(energy)
    else:
        check_size("n_visible", energy.n_visible)
        chunks = _visible_chunks(energy)
    log_z = energy.start_logits().new_full(energy.batch_shape, -torch.inf)
    mean = torch.zeros_like(energy.start_logits())
    for scores, means in chunks:
        before, log_z = log_z, torch.logaddexp(log_z, scores.logsumexp(-1))
        # finite even where nothing so far agrees with the known outputs
        level = log_z.clamp(min=torch.finfo(log_z.dtype).min)
        share = torch.exp(scores - level[..., None])[..., None, :]
        mean = mean * torch.exp(before - level)[..., None] + (share @ means).squeeze(-2)
    return log_z, mean


def _visible_chunks(energy: Energy) -> Iterator[tuple[Tensor, Tensor]]:
    """-F of all v, in pieces, and the v themselves."""
    for v in _state_chunks(energy, energy.n_visible):
        scores = -energy.lifted().free_energy(v)
        allowed = torch.as_tensor(energy.lifted().allows(v), device=v.device)
        yield torch.where(allowed, scores, -torch.inf), v


def _hidden_chunks(energy: BipartiteEnergy) -> Iterator[tuple[Tensor, Tensor]]:
    """log sum_v exp(-E(v, h)) of all h, in pieces, and the means of v given h."""
    lifted = energy.lifted()
    for h in _state_chunks(energy, energy.n_hidden):
        logits = h @ energy.weight.T + lifted.visible_bias
        free_units = softplus(logits)
        if lifted.known is not None:
            known = lifted.known.nan_to_num()
            free_units = torch.where(lifted.known.isnan(), free_units, known * logits)
        scores = free_units.sum(-1) + (h * lifted.hidden_bias).sum(-1)
        yield scores, lifted.force(logits).sigmoid()


def mode(energy: Energy) -> Found:
    check_size("n_visible", energy.n_visible)
    best = energy.start_logits().new_full(energy.batch_shape, -torch.inf)
    v_best = torch.zeros_like(energy.start_logits())
    for scores, v in _visible_chunks(energy):
        score, where = scores.max(-1)
        better = score > best
        best = torch.where(better, score, best)
        v_best = torch.where(better[..., None], v[where], v_best)
    return Found(v_best, -best)


def _state_chunks(energy: Energy, n_units: int) -> Iterator[Tensor]:
    like = energy.start_logits()
    width = max(like.shape[-1], getattr(energy, "n_hidden", 0))
    rows = max(1, like[..., 0].numel())
    size = max(1, CHUNK_ELEMENTS // (rows * width))
    for start in range(0, 2**n_units, size):
        stop = min(start + size, 2**n_units)
        yield all_states(n_units, like=like, start=start, stop=stop)


def check_size(name: str, size: int) -> None:
    if size > LARGEST_LAYER:
        raise ValueError(
            f"Enumeration needs {name} of at most {LARGEST_LAYER}; got {size}, which "
            f"would mean 2^{size} states. Pass `candidates`, or use mean_field, "
            "loopy_bp or gibbs."
        )
