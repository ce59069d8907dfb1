"""Answers of a mixture of a table of label sets with independent labels."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from crbm.decisions.joint import Joint, product_probability

# Labels that are most in doubt, whose values are all tried beside the likeliest ones.
N_DOUBTFUL = 3


def given(joint: Joint, known: Float[Tensor, "cases labels"]) -> tuple[Joint, Tensor]:
    """The joint given known labels (NaN where unknown), and log p of those labels.

    `joint` must be `mixed`, and has a product, so that every set is possible.
    """
    weight, table, product, share = joint
    is_known = ~known.isnan()
    differs = torch.where(is_known, known, 0.5)
    # |known - v| summed over the known labels is 0 for the sets that agree
    distance = (differs * is_known).sum(1, keepdim=True) + (
        torch.where(is_known, 1 - 2 * differs, 0) @ table.T
    )
    agreeing = weight * (distance < 0.5)
    chance = torch.where(known > 0.5, product, 1 - product)
    of_known = torch.where(is_known, chance, 1).log().sum(1)
    of_table, of_product = agreeing.sum(1), share.log() + of_known
    total = torch.logaddexp(of_table.log(), of_product)
    scaled = agreeing / total.exp()[:, None].clamp_min(torch.finfo(weight.dtype).tiny)
    return (
        Joint(
            torch.where(of_table[:, None] > 0, scaled, 0),
            table,
            torch.where(is_known, known, product),
            (of_product - total).exp(),
        ),
        total,
    )


def top_k(joint: Joint, k: int) -> tuple[Tensor, Tensor]:
    """The likeliest label sets of a `mixed` joint, and their probabilities.

    Sets outside the table are looked for near the likeliest one of the product.
    """
    weight, table, product, share = joint
    scores = weight + share[:, None] * product_probability(product, table)
    best = scores.topk(min(k, scores.shape[1]))
    sets = table[best.indices]
    near = _near_likeliest(product)
    outside = share[:, None] * _own_probability(product, near)
    repeated = (near[:, :, None] == sets[:, None]).all(-1).any(-1)
    in_table = contains(table, near)
    outside = outside.masked_fill(repeated | in_table, -1.0)
    chance, place = torch.cat([best.values, outside], 1).sort(1, descending=True)
    every = torch.cat([sets, near], 1)
    chosen = every.gather(1, place[:, :k, None].expand(-1, -1, every.shape[-1]))
    chance = chance[:, :k].clamp_min(0)
    return chosen * (chance > 0)[..., None], chance


def _near_likeliest(product: Tensor) -> Tensor:
    """Each case's likeliest set with all values of the most doubtful labels."""
    n_doubtful = min(N_DOUBTFUL, product.shape[1])
    doubtful = (product - 0.5).abs().topk(n_doubtful, largest=False).indices
    bits = torch.arange(2**n_doubtful)[:, None] >> torch.arange(n_doubtful) & 1
    likeliest = (product > 0.5).to(product)[:, None].expand(-1, len(bits), -1)
    places = doubtful[:, None].expand(-1, len(bits), -1)
    return likeliest.scatter(2, places, bits.to(product).expand(len(product), -1, -1))


def _own_probability(product: Tensor, sets: Tensor) -> Tensor:
    """Probability of each case's own sets under independent labels."""
    chance = torch.where(sets > 0.5, product[:, None], 1 - product[:, None])
    return chance.prod(-1)


def contains(table: Tensor, sets: Tensor) -> Tensor:
    """Whether the table has each of the sets of each case, (cases, sets)."""
    columns = [equal_rows(table, own).any(1) for own in sets.unbind(1)]
    return torch.stack(columns, 1)


def equal_rows(table: Tensor, sets: Tensor) -> Tensor:
    """Which row of the table is the set of each case, (cases, rows).

    Equal sets have as many labels as they have in common.
    """
    common, size = sets @ table.T, sets.sum(1, keepdim=True)
    return (common == size) & (size == table.sum(1))
