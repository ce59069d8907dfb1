"""p(v | u) over the candidates, mixed with the labels of the base on their own.

Where label sets hardly repeat, the true one is seldom a candidate, and the candidates
alone say less about each label than the base does. So the base's labels, independent of
each other, get the share of the probability that held-out cases give them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from torch import Tensor

from crbm.decisions import Joint, mixture
from crbm.estimators import pooling, posteriors
from crbm.inference import exact
from crbm.types import Batch

if TYPE_CHECKING:
    from crbm.estimators.hash_crbm import HashCRBMClassifier


# Bounds on the share where it is not fitted: both parts stay possible.
LEAST, MOST = 0.01, 0.99
# Logarithms of the powers that are tried.
LOG_POWERS = (-1.5, 0.7)
TINY = float(np.finfo(float).tiny)


class BaseLabels(NamedTuple):
    """Independent labels by the log-odds of a base, and their share of p(v | u).

    Parameters
    ----------
    slope, bias
        The log-odds are `slope` times those of the base, plus `bias`.
    share
        The share of the probability; 0 leaves all of it to the candidates.
    power
        The probabilities of the candidates are raised to it, as those of a single model
        are too sure; 1 leaves them as they are.
    """

    slope: float = 1.0
    bias: float = 0.0
    share: float = 0.0
    power: float = 1.0

    def __call__(
        self, odds: Float[Tensor, "cases labels"]
    ) -> Float[Tensor, "cases labels"]:
        """The log-odds of each label from those of the base."""
        return self.slope * odds + self.bias


def calibrate(classifier: HashCRBMClassifier, train: Batch) -> BaseLabels:
    """The labels of the base, without a share yet.

    The log-odds of training cases are those of copies that did not learn from them.
    """
    p = _odds(classifier, train.u).double().sigmoid().numpy()
    weight = None if train.weight is None else train.weight.double().numpy()
    pool = pooling.fit_labels([p], train.v.double().numpy(), weight)
    return BaseLabels(pool.weights[0], pool.bias)


@torch.no_grad()
def weigh(classifier: HashCRBMClassifier, held_out: Batch | None) -> BaseLabels:
    """The labels of the base with the share and the power that suit held-out cases.

    Without such cases, the share is how often the true set is no candidate.
    """
    labels = classifier.base_labels_
    complete = torch.zeros(0, dtype=torch.bool)
    if held_out is not None:
        complete = ~held_out.v.isnan().any(1)
    if held_out is None or not complete.any():
        recall = classifier.candidate_recall_
        share = 0.5 if np.isnan(recall) else float(np.clip(1 - recall, LEAST, MOST))
        return labels._replace(share=share)
    u, v = torch.as_tensor(held_out.u)[complete], held_out.v[complete]
    joints = [(joint, v[rows]) for rows, joint in _joints(classifier, u, 1.0)]
    of_product = torch.cat([_of_product(*each) for each in joints]).numpy()

    def share_and_loss(power: float) -> tuple[float, float]:
        of_table = torch.cat([_of_table(*each, power) for each in joints]).numpy()
        share = pooling.fit_share(of_table, of_product)
        total = (1 - share) * of_table + share * of_product
        return share, -float(np.log(total + TINY).mean())

    found = minimize_scalar(
        lambda log: share_and_loss(np.exp(log))[1], bounds=LOG_POWERS, method="bounded"
    )
    power = float(np.exp(found.x))
    return labels._replace(share=share_and_loss(power)[0], power=power)


def _of_table(joint: Joint, v: Tensor, power: float) -> Tensor:
    """The probability of label sets among the candidates."""
    same = (v[:, None] == joint.table).all(-1)
    return (_raised(joint.weight, power) * same).sum(1)


def _raised(weight: Tensor, power: float) -> Tensor:
    """Probabilities in proportion to a power of `weight`."""
    raised = weight**power
    return raised / raised.sum(1, keepdim=True)


def _of_product(joint: Joint, v: Tensor) -> Tensor:
    """The probability of label sets if labels are independent."""
    return torch.where(v > 0.5, joint.product, 1 - joint.product).prod(1)


def joints(
    classifier: HashCRBMClassifier, u: Tensor, known: Tensor | None
) -> Iterator[Joint]:
    """p(v | u) of some cases at a time, `mixed`, given their known labels."""
    for rows, joint in _joints(classifier, u, classifier.base_labels_.power):
        mixed = joint.mixed()
        yield mixed if known is None else mixture.given(mixed, known[rows].double())[0]


def log_probability(classifier: HashCRBMClassifier, u: Tensor, v: Tensor) -> Tensor:
    """Log p(v | u) of label sets; unknown labels are summed out."""
    found = [
        mixture.given(joint.mixed(), v[rows].double())[1]
        for rows, joint in _joints(classifier, u, classifier.base_labels_.power)
    ]
    return torch.cat(found).clamp_max(0)


def _joints(
    classifier: HashCRBMClassifier, u: Tensor, power: float
) -> Iterator[tuple[slice, Joint]]:
    """Some cases at a time: their places, and their candidates and labels."""
    labels, start = classifier.base_labels_, 0
    log_weight = torch.from_numpy(np.log(classifier.class_weight_))
    for posterior in posteriors.over_candidates(classifier, u, None):
        assert posterior.weight is not None
        weight = _raised(exact.weight_by_row(posterior).double(), power)
        rows = slice(start, start + len(weight))
        start = rows.stop
        log_odds = labels(_odds(classifier, u[rows]).double()) + log_weight
        product = log_odds.sigmoid()
        yield rows, Joint(weight, posterior.v.double(), product, labels.share)


def _odds(classifier: HashCRBMClassifier, u: Any) -> Tensor:
    """The log-odds of the base among the inputs: the last columns."""
    odds: Tensor = u[:, -classifier.n_labels_ :]
    return odds
