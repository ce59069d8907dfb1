"""Log-odds of a scikit-learn classifier as inputs of the models.

The log-odds of training cases come from classifiers that did not learn from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter
from torch import Tensor

from crbm.models import EnergyModel
from crbm.preprocessing import sklearn_parts

N_FOLDS = 5
WHAT = "the `base`"  # in errors of files
# Bounds on p: forests say 0 and 1.
LEAST = 1e-3
Odds = Float[np.ndarray, "cases labels"]


class Base:
    """A classifier for all labels, or a copy of it for each label.

    The latter where it cannot predict several labels, or some are unknown.

    Parameters
    ----------
    base
        An unfitted classifier with `predict_proba`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0, 1], [0, 1], [1, 1], [1, 1.0]])
    >>> Base(LogisticRegression()).fit(X, Y).log_odds(X).round(1)[:, 1]
    array([6.9, 6.9, 6.9, 6.9])
    """

    def __init__(self, base: Any) -> None:
        self.base = base

    def fit(self, X: Any, Y: np.ndarray, weight: Any = None) -> Base:
        """Learn from inputs and labels, NaN where a label is unknown."""
        self.n_labels, self.constants = Y.shape[1], np.full(Y.shape[1], np.nan)
        self.together = bool(_predicts_several(self.base) and not np.isnan(Y).any())
        if self.together:
            self.models = [self._fit_one(X, Y.astype(int), weight)]
            return self
        self.models = []
        for label, y in enumerate(Y.T):
            known = ~np.isnan(y)
            if len(np.unique(y[known])) < 2:
                self.constants[label] = y[known][0] if known.any() else 0.5
                continue
            own = None if weight is None else weight[known]
            self.models.append(self._fit_one(X[known], y[known].astype(int), own))
        return self

    def _fit_one(self, X: Any, Y: np.ndarray, weight: Any) -> Any:
        weighs = weight is not None and has_fit_parameter(self.base, "sample_weight")
        options = {"sample_weight": weight} if weighs else {}
        return clone(self.base).fit(X, Y, **options)

    def log_odds(self, X: Any) -> Odds:
        """Log-odds of each label, p kept within `LEAST` and 1 - `LEAST`."""
        if self.together:
            p = _probabilities(self.models[0], X, self.n_labels)
        else:
            p = np.tile(self.constants, (X.shape[0], 1))
            varies = np.isnan(self.constants)
            for label, model in zip(np.flatnonzero(varies), self.models, strict=True):
                p[:, label] = _of_class_one(model.predict_proba(X), model.classes_)
        p = p.clip(LEAST, 1 - LEAST)
        return np.log(p) - np.log1p(-p)

    def to_tensor(self) -> Tensor:
        """The fitted classifiers as bytes."""
        return sklearn_parts.to_tensor(vars(self), WHAT)

    @classmethod
    def from_tensor(cls, stored: Tensor, n_labels: int) -> Base:
        """The base that `to_tensor` stored."""
        found = sklearn_parts.from_tensor(stored, WHAT)
        names = {"base", "n_labels", "constants", "together", "models"}
        if not isinstance(found, dict) or set(found) != names:
            raise ValueError(f"{WHAT} is not one")
        base = cls(found["base"])
        base.__dict__.update(found)
        n_models = 1 if base.together else int(np.isnan(base.constants).sum())
        sizes = (base.n_labels, len(base.constants), len(base.models))
        if sizes != (n_labels, n_labels, n_models):
            raise ValueError(f"{WHAT} is not of {n_labels} labels")
        return base


def check(base: Any) -> None:
    """Refuse what is not a classifier with probabilities."""
    if base is None:
        return
    for method in ("fit", "predict_proba"):
        if isinstance(base, type) or not hasattr(base, method):
            raise TypeError(
                "`base` must be a scikit-learn classifier with `predict_proba`, e.g. "
                f"RandomForestClassifier(); got {base!r:.60}, which lacks `{method}`."
            )


def learn(
    classifier: Any, numbers: Any, X: Any, v: Tensor, sample_weight: Any, seed: int
) -> Any:
    """The inputs of training cases with cross-fitted log-odds; sets `base_`."""
    Y = v.double().numpy()
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    odds = np.zeros(Y.shape)
    folds = KFold(min(N_FOLDS, len(Y)), shuffle=True, random_state=seed)
    for rest, held_out in folds.split(Y):
        own = None if weight is None else weight[rest]
        base = Base(classifier.base).fit(numbers[rest], Y[rest], own)
        odds[held_out] = base.log_odds(numbers[held_out])
    classifier.base_ = Base(classifier.base).fit(numbers, Y, weight)
    return join(classifier, X, odds)


def add(classifier: Any, numbers: Any, X: Any) -> Any:
    """The inputs of new cases with the log-odds of the fitted base."""
    return join(classifier, X, classifier.base_.log_odds(numbers))


def join(classifier: Any, X: Any, odds: Odds) -> np.ndarray:
    """The inputs and the log-odds, or the log-odds alone."""
    odds = odds.astype(X.dtype)
    if classifier.base_inputs == "instead":
        return odds
    return np.hstack([X.toarray() if issparse(X) else X, odds])


@torch.no_grad()
def start(model: EnergyModel, n_labels: int) -> None:
    """Start a model at the predictions of the base."""
    weight = getattr(model, "weight_uv", None)
    if weight is not None:
        weight[-n_labels:] = torch.eye(n_labels).to(weight)


def _predicts_several(base: Any) -> bool:
    tags = get_tags(base)
    of_classifier = tags.classifier_tags
    return bool(of_classifier is not None and of_classifier.multi_label)


def _probabilities(model: Any, X: Any, n_labels: int) -> np.ndarray:
    """p of each label, from the several forms that scikit-learn has for them."""
    found = model.predict_proba(X)
    if not isinstance(found, list):
        found = np.asarray(found, dtype=float)
        if found.shape[1] != n_labels:  # a single label, as two classes
            return _of_class_one(found, model.classes_)[:, None]
        return found
    columns = zip(found, model.classes_, strict=True)
    return np.stack([_of_class_one(p, classes) for p, classes in columns], axis=1)


def _of_class_one(p: np.ndarray, classes: Any) -> np.ndarray:
    return p @ (np.asarray(classes) == 1).astype(float)
