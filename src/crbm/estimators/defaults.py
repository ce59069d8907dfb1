"""What parameters that are left to "auto" become."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse

from crbm import checks
from crbm.models import EnergyModel
from crbm.types import Batch

# Optimisers by name.
OPTIMIZERS = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}
# The rate of Adam and its kin, and that of plain SGD.
RATE, SGD_RATE = 3e-3, 2**-4
# The strength of the L2 penalty with the rate "auto".
L2 = 0.01
# The fewest cases of which a part is held out to stop early without being asked to.
FEWEST_CASES = 100
# The most distinct label sets that are all candidates without being asked for.
MOST_SETS = 2000
# Columns with means and deviations within these bounds count as scaled.
LARGEST_MEAN, DEVIATIONS = 1.0, (0.3, 3.0)
# The share of zeros above which inputs count as words of a text.
MOSTLY_ZERO = 0.5


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is neither None, a name nor a class of torch.optim."""
    if isinstance(optimizer, str):
        checks.one_of("optimizer", optimizer.lower(), OPTIMIZERS)
    elif not (optimizer is None or callable(optimizer)):
        raise TypeError(
            '`optimizer` must be a name, e.g. "adam", or a class of torch.optim, e.g. '
            f"torch.optim.Adam; got {optimizer!r}."
        )


def check_learning_rate(rate: Any) -> None:
    """Refuse what is neither "auto" nor a positive number."""
    if not isinstance(rate, str):
        checks.positive("learning_rate", rate)
    elif rate != "auto":
        raise ValueError(
            f'`learning_rate` must be "auto" or a positive number; got {rate!r}.'
        )


def optimizer(classifier: Any) -> Any:
    """A class of torch.optim; None for plain SGD at the rate that was given."""
    chosen = classifier.optimizer
    if isinstance(chosen, str):
        return OPTIMIZERS[chosen.lower()]
    if chosen is None and classifier.learning_rate == "auto":
        return torch.optim.Adam
    return chosen


def learning_rate(classifier: Any) -> float:
    """The step size: the one given, or one that suits the optimiser."""
    if classifier.learning_rate != "auto":
        return float(classifier.learning_rate)
    plain = optimizer(classifier) is torch.optim.SGD
    return SGD_RATE if plain else classifier.adam_rate


def check_l2(l2: Any) -> None:
    """Refuse what is neither "auto" nor a number from 0 on."""
    if not isinstance(l2, str) or l2 != "auto":
        checks.not_negative("l2", l2)


def l2(classifier: Any) -> float:
    """The L2 penalty: the one given, or `L2` if the rate is "auto" too."""
    if classifier.l2 != "auto":
        return float(classifier.l2)
    return L2 if classifier.learning_rate == "auto" else 0.0


def check_early_stopping(early_stopping: Any) -> None:
    """Refuse what is neither "auto" nor true or false."""
    if not isinstance(early_stopping, bool | np.bool_) and early_stopping != "auto":
        raise ValueError(
            f'`early_stopping` must be "auto", True or False; got {early_stopping!r}.'
        )


def early_stopping(classifier: Any, n_cases: int) -> bool:
    """Whether to hold out cases: as given, or if the rate is "auto" and there are many.

    A warm start trains for all of its epochs.
    """
    if classifier.early_stopping != "auto":
        return bool(classifier.early_stopping)
    chosen = classifier.learning_rate == "auto" and not classifier.warm_start
    return chosen and n_cases >= FEWEST_CASES


def radius(classifier: Any, v: torch.Tensor) -> int | None:
    """The radius of the candidates: as given, or None unless there are many sets."""
    if classifier.radius != "auto":
        return None if classifier.radius is None else int(classifier.radius)
    packed = np.packbits(v.numpy() == 1, axis=1)
    return None if len(np.unique(packed, axis=0)) <= MOST_SETS else 1


def scaling(X: Any) -> str:
    """The scaling that inputs need.

    "none" for inputs of 0 and 1 and for those that are scaled already; "centre" where
    most are 0, such as the words of a text; "standardise" for all others.

    Examples
    --------
    >>> scaling(np.array([[0.0, 1.0], [1.0, 1.0]]))
    'none'
    >>> scaling(np.array([[1e4, 0.5], [3e4, 0.7]]))
    'standardise'
    >>> scaling(np.array([[0.0, 0.2, 0.0], [0.9, 0.0, 0.0]]))
    'centre'
    """
    values = X.data if issparse(X) else X
    if np.isin(values, (0, 1)).all():
        return "none"
    n_nonzero = values.size if issparse(X) else np.count_nonzero(X)
    if n_nonzero < (1 - MOSTLY_ZERO) * X.shape[0] * X.shape[1]:
        return "centre"
    return "none" if not issparse(X) and is_scaled(X) else "standardise"


def is_scaled(X: np.ndarray) -> bool:
    """Whether all columns that vary have a mean near 0 and a deviation near 1."""
    mean, deviation = X.mean(0, dtype=np.float64), X.std(0, dtype=np.float64)
    low, high = DEVIATIONS
    usual = (np.abs(mean) <= LARGEST_MEAN) & (low <= deviation) & (deviation <= high)
    return bool((usual | (X == 0).all(0)).all())


@torch.no_grad()
def start_biases(model: EnergyModel, data: Batch) -> None:
    """Set the bias of each output to its base rate, for models that have such biases.

    As `CRBM.start_biases`, without the hidden units.
    """
    bias = getattr(model, "bias_v", None)
    if bias is None or bias.shape != data.v.shape[1:]:
        return
    counts = (~data.v.isnan()).to(data.v)
    if data.weight is not None:
        counts = counts * data.weight[:, None]
    total = (data.v.nan_to_num() * counts).sum(0)
    bias.copy_(model.visible.starting_field(total, counts.sum(0)))
