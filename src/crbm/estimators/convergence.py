"""Warnings about training that ended too soon or learned too little."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from crbm import metrics
from crbm.objectives import CandidateLikelihood, ExactLikelihood
from crbm.training import History, distributed
from crbm.types import Batch

if TYPE_CHECKING:
    from crbm.estimators.structured import StructuredClassifier

# Objectives whose loss compares across epochs.
LIKELIHOODS = (CandidateLikelihood, ExactLikelihood)
# A loss that falls by more than this share in the last fifth of the epochs falls still.
LARGEST_FALL = 0.02
# The most cases that predictions are compared on with the base rates.
MOST_CASES = 500
FEWEST_CASES = 30
LEAST = 1e-3  # lower bound on p in log losses


def warn(
    classifier: StructuredClassifier, train: Batch, held_out: Batch | None
) -> None:
    """Warn about a fit that has not converged, or predicts worse than base rates.

    Not about members of another estimator, which have its hooks and are judged by it,
    nor about a run that diverged, which has been warned about.
    """
    diverged = any(h.stopped == "diverged" for h in classifier.histories_)
    if classifier._hooks or diverged or not distributed.current().first:
        return
    name = type(classifier).__name__
    fall = max(_fall(classifier, history) for history in classifier.histories_)
    if fall > LARGEST_FALL:
        n_epochs = len(classifier.histories_[0].epochs)
        warnings.warn(
            f"{name} has not converged: the loss fell by {fall:.0%} in the last fifth "
            f"of {n_epochs} epochs. Raise `n_epochs`{_advice(classifier)}.",
            ConvergenceWarning,
            stacklevel=5,
        )
    errors = (
        None
        if classifier.class_weight is not None
        else _errors(classifier, train, held_out)
    )
    if errors is not None:
        place = "held-out" if held_out is not None else "training"
        warnings.warn(
            f"{name} is worse than base rates: {errors[0]:.1%} wrong labels on "
            f"{place} cases, {errors[1]:.1%} with the most common answer per label. "
            f"Check `X`, or change how it trains{_advice(classifier)}.",
            ConvergenceWarning,
            stacklevel=5,
        )


def _advice(classifier: StructuredClassifier) -> str:
    """What else helps, where it was not done."""
    steps = {
        '`learning_rate`="auto"': classifier.learning_rate != "auto",
        '`preprocessing`="auto"': classifier.preprocessing == "none",
    }
    wanted = " and ".join(step for step, lacks in steps.items() if lacks)
    return f", or set {wanted}" if wanted else ""


def _fall(classifier: StructuredClassifier, history: History) -> float:
    """By what share the loss fell at the end of a run that was not stopped; else 0.

    Of a run with held-out cases, the lowest error on them, which must be a recent one.
    """
    if history.stopped is not None or classifier.warm_start:
        return 0.0
    of_loss = history.best_epoch is None
    if of_loss and not isinstance(classifier._objective(), LIKELIHOODS):
        return 0.0
    values = history.loss if of_loss else history.validation
    fifth = -(-len(values) // 5)
    before, last = (
        np.min(np.array(part, dtype=float), initial=np.inf)
        for part in (values[:-fifth], values[-fifth:])
    )
    fell = np.isfinite(before) and last < before
    return float((before - last) / abs(before)) if fell and before else 0.0


def _errors(
    classifier: Any, train: Batch, held_out: Batch | None
) -> tuple[float, float] | None:
    """Shares of wrong labels, if predictions are worse than base rates in all ways."""
    cases = train if held_out is None else held_out
    cases = cases.select(slice(0, MOST_CASES))
    if cases.n_cases < FEWEST_CASES:
        return None
    truth = cases.v.double().numpy()
    known = train.v.double().numpy()
    base = np.nanmean(np.vstack([known, np.full(known.shape[1], 0.5)]), axis=0)
    base = np.broadcast_to(base, truth.shape)
    p = classifier._marginals(cases.u, None).double().numpy()
    losses, errors = [], []
    for each in (p, base):
        losses.append(metrics.label_log_loss(truth, each, least=LEAST))
        errors.append(float(((each > 0.5) != truth)[~np.isnan(truth)].mean()))
    worse = losses[0] > losses[1] and errors[0] > errors[1]
    return (errors[0], errors[1]) if worse else None
