"""Weights of labels: how much a present label counts beside an absent one.

Weighting each case by the product of the weights of its labels turns p(v | u) into
a distribution proportional to w(v) p(v | u): the odds of each label, given the input
and the other labels, are multiplied by its weight. In an energy-based model that is
log w added to the bias of the label, so nothing is trained anew and no case is counted
thousands of times because several of its labels are rare.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from crbm import checks
from crbm.types import Batch


def check(class_weight: Any) -> None:
    """Refuse what is neither None, "balanced", a mapping nor a sequence."""
    if isinstance(class_weight, str) and class_weight != "balanced":
        raise ValueError(
            '`class_weight` must be None, "balanced", a dict from labels to weights or '
            f"one weight per label; got {class_weight!r}."
        )


def apply(classifier: Any, data: Batch) -> None:
    """Set `class_weight_` and add its logs to the biases of the trained models."""
    weight = class_weights(classifier, data)
    classifier.class_weight_ = weight
    if (weight != 1).any():
        _shift(classifier, np.log(weight))


def remove(classifier: Any) -> None:
    """Undo `apply`, before the models are trained further."""
    weight = getattr(classifier, "class_weight_", np.ones(1))
    if (weight != 1).any():
        _shift(classifier, -np.log(weight))
    classifier.class_weight_ = np.ones(classifier.n_labels_)


def class_weights(classifier: Any, data: Batch) -> Float[np.ndarray, " labels"]:
    """The weight of each label being present, relative to its being absent."""
    wanted = classifier.class_weight
    if wanted is None:
        return np.ones(classifier.n_labels_)
    if isinstance(wanted, str):
        return balanced(data) if classifier.columns_ is None else equal_classes(data)
    if isinstance(wanted, dict):
        return _by_name(classifier, wanted)
    weight = np.asarray(wanted, dtype=np.float64)
    if weight.shape != (classifier.n_labels_,):
        raise ValueError(
            f"`class_weight` must have one weight per label, {classifier.n_labels_} in "
            f"all; got shape {weight.shape}."
        )
    for value in weight:
        checks.positive("class_weight", value)
    return weight


def balanced(data: Batch) -> Float[np.ndarray, " labels"]:
    """Cases without a label per case with it; 1 for labels that never change.

    Examples
    --------
    >>> v = torch.tensor([[1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, float("nan")]])
    >>> balanced(Batch(None, v))
    array([3., 1.])
    """
    weight = data.v.new_ones(len(data.v)) if data.weight is None else data.weight
    present, absent = (_total(data.v == value, weight) for value in (1, 0))
    constant = (present == 0) | (absent == 0)
    return np.where(constant, 1.0, absent / np.where(constant, 1.0, present))


def equal_classes(data: Batch) -> Float[np.ndarray, " labels"]:
    """One over the share of cases of each class; 1 for classes without cases.

    Examples
    --------
    >>> equal_classes(Batch(None, torch.eye(2)[[0, 0, 0, 1]]))
    array([1.33333333, 4.        ])
    """
    weight = data.v.new_ones(len(data.v)) if data.weight is None else data.weight
    count, known = _total(data.v == 1, weight), _total(~data.v.isnan(), weight)
    return np.where(count == 0, 1.0, known / np.where(count == 0, 1.0, count))


def _total(where: Tensor, weight: Tensor) -> np.ndarray:
    return (where * weight[:, None]).sum(0).double().numpy()


def _by_name(classifier: Any, wanted: dict[Any, Any]) -> np.ndarray:
    """Weights by label; for a single column by class, as in scikit-learn."""
    for value in wanted.values():
        checks.positive("class_weight", value)
    given = {str(name): float(value) for name, value in wanted.items()}
    names = [str(name) for name in classifier.label_names_]
    is_pair = classifier.single_column_ and classifier.columns_ is None
    known = classifier.classes_.tolist() if is_pair else names
    strange = set(given) - {str(name) for name in known}
    if strange:
        raise ValueError(
            f"`class_weight` names {sorted(strange)[0]!r}, which is not a label; the "
            f"labels are {', '.join(map(str, known))[:200]}."
        )
    weight = np.array([given.get(name, 1.0) for name in names])
    absent = given.get(str(known[0]), 1.0) if is_pair else 1.0
    return weight / absent


@torch.no_grad()
def _shift(classifier: Any, log_weight: np.ndarray) -> None:
    for model in classifier.models_:
        bias = getattr(model, "bias_v", None)
        if bias is None:
            raise ValueError(
                f"`class_weight` needs a model with a bias per label, `bias_v`; "
                f"{type(model).__name__} has none. Use `thresholds` instead."
            )
        bias += torch.from_numpy(log_weight).to(bias)
