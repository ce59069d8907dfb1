"""Joint probabilities of label sets: a table, an independent product, or a mixture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

# Numbers in the largest temporary of a decision: 64 MB in float32.
LARGEST_TABLE = 2**24

Answers = Bool[np.ndarray, "cases labels"]


class Joint(NamedTuple):
    """P(v | u) of each case: a table of label sets, perhaps mixed with a product.

    P(v) = (1 - share) sum_s weight_s [v = table_s] + share prod_i p_i(v_i)

    Parameters
    ----------
    weight
        Probabilities of the label sets, (cases, sets); each row sums to 1.
    table
        The label sets as 0 and 1: (sets, labels) for all cases, or one table for each
        case, (cases, sets, labels). Sets must not repeat.
    product
        p(v_i = 1 | u) of independent labels, (cases, labels).
    share
        How much of the probability the product has: a number or one per case.

    Examples
    --------
    >>> joint = Joint([[0.6, 0.4]], [[1, 0], [1, 1]])
    >>> marginals(joint)
    array([[1. , 0.4]])
    """

    weight: Any
    table: Any
    product: Any = None
    share: Any = 0.0

    @classmethod
    def independent(cls, probabilities: Any) -> Joint:
        """The distribution of labels that are independent of each other."""
        product = _tensor(probabilities)
        weight, table = product.new_zeros(len(product), 1), product.new_zeros(1, 1)
        return cls(weight, table.expand(1, product.shape[1]), product, 1.0)

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return len(self.weight)

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return int(self.table.shape[-1])

    def mixed(self) -> Joint:
        """The joint as tensors, `weight` already multiplied by its share."""
        weight = _tensor(self.weight)
        table = _tensor(self.table).to(weight)
        if self.product is None:
            return Joint(weight, table, None, weight.new_zeros(len(weight)))
        share = _tensor(self.share).to(weight).expand(len(weight))
        product = _tensor(self.product).to(weight)
        return Joint(weight * (1 - share)[:, None], table, product, share)

    def unmixed(self) -> Joint:
        """A `mixed` joint as it was before: each row of `weight` sums to 1."""
        total = (1 - self.share).clamp_min(torch.finfo(self.weight.dtype).tiny)
        return self._replace(weight=self.weight / total[:, None])

    def split(self, numbers_per_case: int) -> Iterator[Joint]:
        """Some cases at a time, so that temporaries stay below `LARGEST_TABLE`."""
        step = max(1, LARGEST_TABLE // max(1, numbers_per_case))
        for start in range(0, self.n_cases, step):
            yield self._rows(slice(start, start + step))

    def _rows(self, rows: slice) -> Joint:
        table = self.table[rows] if self.table.ndim == 3 else self.table
        product = None if self.product is None else self.product[rows]
        return Joint(self.weight[rows], table, product, self.share[rows])


def marginals(joint: Joint) -> Float[np.ndarray, "cases labels"]:
    """p(v_i = 1 | u) of each label."""
    return mean(joint.mixed()).numpy()


def mean(mixed: Joint) -> Tensor:
    """The marginals of a joint that is already `mixed`."""
    weight, table, product, share = mixed
    p = (weight[:, None] @ table).squeeze(1) if table.ndim == 3 else weight @ table
    return p if product is None else p + share[:, None] * product


def round_marginals(probabilities: Any) -> Answers:
    """The labels that are more likely than not: best for the Hamming error."""
    return np.asarray(probabilities) > 0.5


def mode(joint: Joint) -> Answers:
    """The likeliest label set: best for the share of sets that are entirely right.

    Examples
    --------
    >>> mode(Joint([[0.6, 0.4]], [[1, 0], [1, 1]])).astype(int)
    array([[1, 0]])
    """
    mixed = joint.mixed()
    width = mixed.weight.shape[1] * (mixed.n_labels if mixed.table.ndim == 3 else 1)
    return np.concatenate([_mode(part) for part in mixed.split(width)])


def _mode(part: Joint) -> Answers:
    weight, table, product, share = part
    if product is not None:
        weight = weight + share[:, None] * product_probability(product, table)
    highest, place = weight.max(1)
    answer = table[place] if table.ndim == 2 else table[torch.arange(len(place)), place]
    if product is not None:
        # The likeliest set of the product, where it is not in the table, is the only
        # other one that can win.
        outside = share * torch.maximum(product, 1 - product).log().sum(1).exp()
        rounded_product = (product > 0.5).to(answer)
        answer = torch.where((outside > highest)[:, None], rounded_product, answer)
    return answer.numpy() > 0.5


def reweight(joint: Joint, weight: Any) -> Joint:
    """The joint in proportion to P(v) times the product of the weights of v's labels.

    The odds of each label, given the others, are multiplied by its weight: what a
    weight of a class does in classifiers of single labels.

    Parameters
    ----------
    joint
        The joint distribution of each case.
    weight
        One positive number per label.

    Examples
    --------
    >>> reweight(Joint([[0.75, 0.25]], [[0, 0], [0, 1]]), [1, 3]).weight
    tensor([[0.5000, 0.5000]], dtype=torch.float64)
    """
    mixed = joint.mixed()
    log_weight = _tensor(weight).to(mixed.weight).log()
    log_table = mixed.weight.log() + mixed.table @ log_weight
    # without a share of its own, as in `independent`, the table stays at 0
    table = Joint(log_table.softmax(1).nan_to_num(0), mixed.table)
    if mixed.product is None:
        return table
    factor = 1 + mixed.product * (log_weight.exp() - 1)
    log_product = mixed.share.log() + factor.log().sum(1)
    share = (log_product - log_table.logsumexp(1)).sigmoid()
    product = mixed.product * log_weight.exp() / factor
    return table._replace(product=product, share=share)


def product_probability(product: Tensor, table: Tensor) -> Tensor:
    """Probability of each set of the table under independent labels, (cases, sets)."""
    tiny = torch.finfo(product.dtype).tiny
    present, absent = product.clamp_min(tiny).log(), (1 - product).clamp_min(tiny).log()
    odds = (present - absent)[..., None]
    score = (table @ odds).squeeze(-1) if table.ndim == 3 else odds[..., 0] @ table.T
    return (score + absent.sum(1, keepdim=True)).exp()


def _tensor(values: Any) -> Tensor:
    """Numbers as a tensor of floats; float64 unless they are already float32."""
    tensor = (
        values if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values))
    )
    return tensor if tensor.is_floating_point() else tensor.double()
