"""Call the classifier for parsed cases and return response schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from crbm.estimators import LabelSetClassifier, StructuredClassifier
from crbm.estimators.encoding import encode_labels
from crbm.inference import mean_field
from crbm.web.schemas import LabelSet, LabelSets, Prediction, Trajectory

Rows = Float[np.ndarray, "cases inputs"]
Records = list[dict[str, Any]]


class InputError(ValueError):
    """Invalid input, described in one line."""


class Case(NamedTuple):
    """One input, and its known labels (NaN for unknown ones) if there are any.

    The input is a row of numbers, or a record of columns if the model encodes tables.
    """

    u: Float[np.ndarray, " inputs"] | dict[str, Any]
    known: Float[np.ndarray, " labels"] | None = None


class Answer(NamedTuple):
    """Labels as 0 and 1 and p(v_i = 1 | u) of one case."""

    labels: Int[np.ndarray, " labels"]
    probabilities: Float[np.ndarray, " labels"]

    def named(self, names: Sequence[str]) -> Prediction:
        """The answer as the API gives it in JSON."""
        return Prediction.model_construct(
            labels=_present(names, self.labels),
            prediction=self.labels.tolist(),
            probabilities=self.probabilities.tolist(),
        )


def predict(classifier: LabelSetClassifier, cases: Sequence[Case]) -> list[Answer]:
    """Predict each case; one call for those with known labels, one for the others."""
    results: dict[int, Answer] = {}
    for has_known in (False, True):
        places = [i for i, c in enumerate(cases) if (c.known is not None) is has_known]
        if places:
            batch = _predict_batch(classifier, [cases[i] for i in places])
            results.update(zip(places, batch, strict=True))
    return [results[place] for place in range(len(cases))]


def top_sets(classifier: LabelSetClassifier, case: Case, k: int) -> LabelSets:
    """The most probable label sets of a case, without those of probability 0."""
    X, known = _stack([case])
    top = classifier.predict_top_k(X, k, known=known)
    labels = top.labels[0]
    if classifier.columns_ is not None:
        labels = encode_labels(classifier, labels).numpy()
    names = classifier.label_names_
    return LabelSets(
        sets=[
            LabelSet(labels=_present(names, row), probability=float(p))
            for row, p in zip(labels, top.probability[0], strict=True)
            if p != 0
        ]
    )


@torch.no_grad()
def trajectory(classifier: LabelSetClassifier, case: Case, n_steps: int) -> Trajectory:
    """Free energies at the start of mean field and after each step."""
    if not isinstance(classifier, StructuredClassifier):
        raise InputError(
            f"{type(classifier).__name__} pools several models and has no mean field. "
            "Ask for predictions or label sets."
        )
    energies = classifier.condition(*_stack([case]))
    free, bound = [], []
    for energy in energies:
        start = energy.start()
        states = [start, *mean_field.steps(energy, start, n_steps)]
        free.append(torch.cat([energy.free_energy(v) for v in states]))
        bounds = [-mean_field.log_partition_bound(energy, v) for v in states]
        bound.append(torch.cat(bounds))
    return Trajectory(
        free_energy=_mean_over_members(free), bound=_mean_over_members(bound)
    )


def _predict_batch(
    classifier: LabelSetClassifier, cases: Sequence[Case]
) -> list[Answer]:
    predicted, probabilities = classifier.predict_with_proba(*_stack(cases))
    return [Answer(*pair) for pair in zip(predicted, probabilities, strict=True)]


def _stack(cases: Sequence[Case]) -> tuple[Rows | Records, np.ndarray | None]:
    known = [case.known for case in cases if case.known is not None]
    rows: Any = [case.u for case in cases]
    X = rows if isinstance(rows[0], dict) else np.stack(rows)
    return X, np.stack(known) if known else None


def _present(names: Sequence[str], labels: np.ndarray) -> list[str]:
    return [names[place] for place in np.flatnonzero(labels).tolist()]


def _mean_over_members(members: list[Tensor]) -> list[float]:
    return torch.stack(members).mean(0).tolist()
