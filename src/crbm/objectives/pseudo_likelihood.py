"""Pseudo-likelihood: each output given all the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor

from crbm.energies import (
    BipartiteEnergy,
    Energy,
    Windowed,
    block_conditional,
    has_blocks,
)
from crbm.objectives.exact_likelihood import ExactLikelihood
from crbm.objectives.neighbours import OneOutput, impute_by_sampling, values_of
from crbm.types import Batch, Contrast, States


@dataclass(frozen=True)
class PseudoLikelihood(OneOutput):
    """The data against itself with one output changed, weighted by its probability.

    It needs no chain: the conditional of one output is a sum over its values. It does
    not train predictions from u alone, as every output sees all others, so hidden units
    may learn to copy outputs. Unknown outputs are drawn given the known ones and are
    not predicted.

    Parameters
    ----------
    n_blocks
        Outputs per case and update, drawn at random; None takes all. In a
        convolutional model a block is a grid of pixels that share no hidden unit, one
        of k x k for a window of side k, and one pass serves all pixels of a block. The
        gradient is exact where all blocks are taken, otherwise unbiased.

    Notes
    -----
    The sum over i of -log p(v_i | all other v, u) [2]_; without hidden units it is the
    likelihood. The gradient of one term is that of F at the data minus the mean of that
    of F over the values of v_i.

    References
    ----------
    .. [2] J. Besag, "Statistical analysis of non-lattice data", The Statistician 24,
       1975.

    Examples
    --------
    >>> import crbm
    >>> u, v = torch.ones(5, 4), torch.zeros(5, 3)
    >>> contrast = PseudoLikelihood()(crbm.CRBM(4, 3, 2).condition(u), Batch(u, v))
    >>> contrast.negative.v.shape  # each of three outputs flipped in turn
    torch.Size([5, 3, 3])
    """

    short_name: ClassVar[str] = "pseudo_likelihood"

    def __call__(
        self, energy: Energy, batch: Batch, generator: Generator | None = None
    ) -> Contrast:
        if energy.is_independent:
            return ExactLikelihood()(energy, batch, generator)
        self.check_units(energy)
        energy = energy.expand(batch.n_cases)
        if has_blocks(energy):
            return self._by_blocks(energy, batch, generator)
        near = self.neighbours(energy, batch, generator)
        # p(data) = 1 / (1 + sum of exp(gap)), and p(neighbour) = exp(gap) p(data)
        log_total = torch.nn.functional.pad(near.gap, (1, 0)).logsumexp(-1)
        p_other = (near.gap - log_total[..., None]).exp()
        return near.contrast(p_other, log_total.sum(1))

    def _by_blocks(
        self, energy: BipartiteEnergy, batch: Batch, generator: Generator | None
    ) -> Contrast:
        v = impute_by_sampling(energy, batch, generator)
        coupling, width = energy.coupling, energy.visible.width
        assert isinstance(coupling, Windowed)
        present = ~batch.v.unflatten(-1, (-1, width))[..., 0].isnan()
        own = values_of(v.unflatten(-1, (-1, width)), energy.visible.states(v))
        loss, negative, data = v.new_zeros(len(v)), [], energy.evaluate(v)
        blocks = self._draw_blocks(coupling.n_blocks, v, generator)
        for block in blocks:
            chosen = present & coupling.in_block(block)
            conditional = block_conditional(energy, v, chosen)
            loss -= conditional.log_p.gather(1, own[:, None]).sum((1, 2))
            negative.append(conditional.expected)
        scale = coupling.n_blocks / len(blocks)
        states = _concatenate(negative)
        weight = states.v.new_full(states.v.shape[:2], scale)
        once = v.new_full((len(v),), scale * len(blocks))
        return Contrast(
            States(v, once, cache=data.cache),
            states._replace(weight=weight),
            loss * scale,
        )

    def _draw_blocks(
        self, n_blocks: int, v: Tensor, generator: Generator | None
    ) -> list[int]:
        if self.n_blocks is None or self.n_blocks >= n_blocks:
            return list(range(n_blocks))
        order = torch.randperm(n_blocks, generator=generator, device=v.device)
        return order[: self.n_blocks].tolist()


def _concatenate(states: list[States]) -> States:
    cache = torch.cat([each.cache for each in states], 1)
    return States(torch.cat([each.v for each in states], 1), cache=cache)
