"""The label set with the highest expected Jaccard index.

No decomposition over labels is known for a general joint. With at most
`ENUMERABLE_LABELS` labels all answers are compared, which is exact. With more, the
answers compared are the likeliest label sets of the table, the answer with the highest
expected F1, and for each size the labels with the highest marginals, which include
the rounded marginals. For independent labels one of the latter is the best.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from crbm.decisions.f_measure import example_f1
from crbm.decisions.joint import Answers, Joint, mean
from crbm.decisions.quadrature import count_nodes, factors, nodes
from crbm.inference.enumeration import all_states

# All 2^n answers are compared up to this many labels.
ENUMERABLE_LABELS = 10
# Likeliest label sets of a case that its answers are judged by, and tried as answers.
MOST_SETS = 512
MOST_ANSWERS = 64


def jaccard(joint: Joint) -> Answers:
    """The label set with the highest expected Jaccard index of each case.

    The Jaccard index of an empty answer is 1 if the truth is empty as well. Of more
    than `MOST_SETS` label sets the likeliest are taken.

    Examples
    --------
    >>> jaccard(Joint([[0.5, 0.3, 0.2]], [[1, 0], [0, 1], [1, 1]])).astype(int)
    array([[1, 1]])
    """
    mixed = joint.mixed()
    if mixed.n_labels <= ENUMERABLE_LABELS:
        start = all_states(mixed.n_labels, like=mixed.weight)[None]
    else:
        start = torch.from_numpy(example_f1(joint)).to(mixed.weight)[:, None]
    parts, first = [], 0
    for part in mixed.split(_numbers_per_case(mixed)):
        own = start if len(start) == 1 else start[first : first + part.n_cases]
        parts.append(_best(part, own))
        first += part.n_cases
    return np.concatenate(parts)


def expected_jaccard(part: Joint, answers: Tensor) -> Tensor:
    """The expected Jaccard index of answers (1 or cases, answers, labels)."""
    size, sets = answers.sum(-1), part.table
    both = answers @ sets.transpose(-1, -2)
    union = size[..., None] + sets.sum(-1).unsqueeze(-2) - both
    index = torch.where(union > 0, both / union.clamp_min(1), 1)
    value = (index @ part.weight[..., None]).squeeze(-1)
    return value if part.product is None else value + _of_product(part, answers)


def _of_product(part: Joint, answers: Tensor) -> Tensor:
    """The part of the independent labels.

    Labels inside and outside the answer are independent, so the mean of
    |a and v| / (|a| + |v outside a|) is a mean times an integral.
    """
    t, weight = nodes(count_nodes(part.product), like=part.product)
    outside = (1 - answers) @ factors(part.product, t).log().transpose(-1, -2)
    size = answers.sum(-1, keepdim=True)
    inverse = (outside.exp() * t ** (size - 1).clamp_min(0)) @ weight
    inside = (answers @ part.product[..., None]).squeeze(-1)
    empty = (1 - part.product).prod(1)[:, None]
    value = torch.where(size.squeeze(-1) > 0, inside * inverse, empty)
    return part.share[:, None] * value


def _best(part: Joint, start: Tensor) -> Answers:
    """The best of the answers to start with, label sets, and labels by marginals."""
    marginal, part = mean(part), _likeliest(part, MOST_SETS)
    value, answer = _pick(expected_jaccard(part, start), start)
    if start.shape[1] == 2**part.n_labels:
        return answer.numpy() > 0.5
    sets = _likeliest(part, MOST_ANSWERS).table.expand(part.n_cases, -1, -1)
    value, answer = _better(part, sets, value, answer)
    rank = marginal.argsort(1, descending=True).argsort(1)
    for first in range(1, part.n_labels + 1, MOST_ANSWERS):
        # An answer of size k has at most an index of |v| / k.
        if (marginal.sum(1) / first <= value).all():
            break
        sizes = torch.arange(first, min(first + MOST_ANSWERS, part.n_labels + 1))
        nested = (rank[:, None] < sizes[:, None]).to(marginal)
        value, answer = _better(part, nested, value, answer)
    return answer.numpy() > 0.5


def _better(
    part: Joint, answers: Tensor, value: Tensor, answer: Tensor
) -> tuple[Tensor, Tensor]:
    """The better of the best of these answers and of the one at hand."""
    found, chosen = _pick(expected_jaccard(part, answers), answers)
    better = found > value
    return torch.maximum(found, value), torch.where(better[:, None], chosen, answer)


def _pick(values: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
    value, place = values.max(1)
    rows = torch.arange(len(place)) if len(answers) > 1 else torch.zeros_like(place)
    return value, answers[rows, place]


def _likeliest(part: Joint, n_sets: int) -> Joint:
    """The joint with the likeliest label sets of each case alone."""
    weight, table, product, share = part
    if weight.shape[1] <= n_sets:
        return part
    weight, ids = weight.topk(n_sets)
    rows = torch.arange(len(ids))[:, None]
    return Joint(
        weight, table[ids] if table.ndim == 2 else table[rows, ids], product, share
    )


def _numbers_per_case(mixed: Joint) -> int:
    n_sets = min(mixed.weight.shape[1], MOST_SETS)
    n_answers = max(MOST_ANSWERS, 2 ** min(mixed.n_labels, ENUMERABLE_LABELS))
    n_nodes = 0 if mixed.product is None else count_nodes(mixed.product)
    return (n_sets + n_nodes) * (mixed.n_labels + n_answers)
