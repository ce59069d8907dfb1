"""What parameters that are left to "auto" become."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse

from crbm import checks

# Optimisers by name.
OPTIMIZERS = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}
# The rate of Adam and its kin, and that of plain SGD.
RATE, SGD_RATE = 3e-3, 2**-4
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
    return SGD_RATE if plain else RATE


def preprocessing(X: Any) -> str:
    """The scaling that inputs need.

    "none" for inputs of 0 and 1 and for those that are scaled already; "centre" where
    most are 0, such as the words of a text; "standardise" for all others.

    Examples
    --------
    >>> preprocessing(np.array([[0.0, 1.0], [1.0, 1.0]]))
    'none'
    >>> preprocessing(np.array([[1e4, 0.5], [3e4, 0.7]]))
    'standardise'
    >>> preprocessing(np.array([[0.0, 0.2, 0.0], [0.9, 0.0, 0.0]]))
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
