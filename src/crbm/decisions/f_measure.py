"""The label set with the highest expected F1, exactly.

F1 of an answer a against the truth v is 2 |a and v| / (|a| + |v|), so the expected F1
of an answer of size k is the sum over its labels of

    score_i(k) = E[ v_i 2 / (|v| + k) ]

and the best answer of size k has the k labels with the highest scores. Comparing all
sizes, and the empty set with its P(v is empty), gives the best answer of all: the
general F-measure maximiser of Dembczynski, Waegeman, Cheng and Huellermeier, 2011.

The expectation is a sum over the sizes |v| for a table of label sets. For independent
labels it is an integral: 1 / (|v| + k) is that of t^(|v| + k - 1) over (0, 1), and
the mean of t^|v| is a product over the labels. Gauss-Legendre nodes do the integral.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from crbm.decisions.joint import Answers, Joint, mean
from crbm.decisions.quadrature import count_nodes, factors, nodes

# Sizes of answers that are compared at a time.
BLOCK = 16


def example_f1(joint: Joint) -> Answers:
    """The label set with the highest expected F1 of each case.

    F1 of an empty answer is 1 if the truth is empty as well, and 0 otherwise.

    Examples
    --------
    Two equally likely sets: both labels together have F1 = 2/3 whichever is true.

    >>> example_f1(Joint([[0.5, 0.5]], [[1, 0], [0, 1]])).astype(int)
    array([[1, 1]])
    """
    mixed = joint.mixed()
    sizes = mixed.table.sum(-1).unique()
    n_nodes = 0 if mixed.product is None else count_nodes(mixed.product)
    width = (len(sizes) + n_nodes + 2 * BLOCK) * mixed.n_labels
    if mixed.table.ndim == 3:
        width += mixed.weight.shape[1] * len(sizes)
    parts = [_best(part, sizes, n_nodes) for part in mixed.split(width)]
    return np.concatenate(parts)


def _best(part: Joint, sizes: Tensor, n_nodes: int) -> Answers:
    """The best answer of each case, sizes in turn until none can win any more."""
    terms = torch.cat([by_size(part, sizes), *by_node(part, n_nodes)], 1)
    marginal = mean(part)
    value, answer = probability_of_empty(part), torch.zeros_like(marginal)
    expected_size, n_labels = marginal.sum(1), int((marginal > 0).sum(1).max())
    for first in range(1, n_labels + 1, BLOCK):
        # Expected F1 is at most 2 E|v| / (E|v| + k), as 2 s / (s + k) is concave in s.
        bound = 2 * expected_size / (expected_size + first)
        rows = (bound > value).nonzero().squeeze(1)
        if len(rows) == 0:
            break
        k = torch.arange(first, min(first + BLOCK, n_labels + 1))
        found, labels = _of_sizes(coefficients(k, sizes, n_nodes) @ terms[rows], k)
        better = found > value[rows]
        value[rows] = torch.maximum(found, value[rows])
        answer[rows[better]] = labels[better]
    return answer.numpy() > 0.5


def _of_sizes(scores: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """The best answer of each case among those of sizes k, and its expected F1."""
    best = scores.topk(int(k[-1]))
    totals = best.values.cumsum(-1)[:, torch.arange(len(k)), k - 1]
    value, place = totals.max(1)
    rows = torch.arange(len(place))
    chosen = (torch.arange(int(k[-1])) < k[place][:, None]).to(scores)
    empty = scores.new_zeros(len(scores), scores.shape[-1])
    return value, empty.scatter(1, best.indices[rows, place], chosen)


def coefficients(k: Tensor, sizes: Tensor, n_nodes: int) -> Tensor:
    """What turns terms into scores: (answer sizes, set sizes and nodes)."""
    t, weight = nodes(n_nodes, like=sizes)
    by_size = 2 / (sizes + k[:, None])
    return torch.cat([by_size, 2 * weight * t ** k[:, None]], 1)


def by_size(part: Joint, sizes: Tensor) -> Tensor:
    """P(v_i = 1, |v| = size) under the table, (cases, sizes, labels)."""
    own = part.table.sum(-1)
    if part.table.ndim == 3:
        has_size = own[:, None] == sizes[:, None]
        return (has_size * part.weight[:, None]) @ part.table
    found = [part.weight[:, own == size] @ part.table[own == size] for size in sizes]
    return torch.stack(found, 1)


def by_node(part: Joint, n_nodes: int) -> list[Tensor]:
    """share p_i prod_(j != i) (1 - p_j + p_j t), (cases, nodes, labels)."""
    if part.product is None:
        return []
    t, _ = nodes(n_nodes, like=part.product)
    factor = factors(part.product, t)
    scale = part.share[:, None] * factor.log().sum(-1).exp()
    return [scale[..., None] * part.product[:, None] / factor]


def probability_of_empty(part: Joint) -> Tensor:
    """P(v is the empty set)."""
    empty = part.weight * (part.table.sum(-1) == 0)
    if part.product is None:
        return empty.sum(1)
    return empty.sum(1) + part.share * (1 - part.product).prod(1)
