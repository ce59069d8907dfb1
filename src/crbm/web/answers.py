"""Answers to checked questions, by nothing but the classifier's own methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from crbm.estimators import StructuredClassifier
from crbm.inference import mean_field
from crbm.web.schemas import LabelSet, LabelSets, Prediction, Trajectory

Rows = Float[np.ndarray, "cases inputs"]


class Case(NamedTuple):
    """One input, and its labels where some are known (NaN where they are not)."""

    u: Float[np.ndarray, " inputs"]
    known: Float[np.ndarray, " labels"] | None = None


def predictions(
    classifier: StructuredClassifier, cases: Sequence[Case]
) -> list[Prediction]:
    """The prediction for each case; those with known labels are asked apart."""
    found: dict[int, Prediction] = {}
    for told in (False, True):
        places = [i for i, case in enumerate(cases) if (case.known is not None) is told]
        if places:
            answers = _predicted(classifier, [cases[i] for i in places])
            found.update(zip(places, answers, strict=True))
    return [found[place] for place in range(len(cases))]


def top_sets(classifier: StructuredClassifier, case: Case, k: int) -> LabelSets:
    """The likeliest label sets of a case that are possible at all."""
    X, known = _stacked([case])
    top = classifier.predict_top_k(X, k, known=known)
    pairs = zip(top.labels[0], top.probability[0], strict=True)
    names = classifier.label_names_
    return LabelSets(
        sets=[
            LabelSet(labels=_present(names, labels), probability=float(chance))
            for labels, chance in pairs
            if chance != 0
        ]
    )


@torch.no_grad()
def trajectory(
    classifier: StructuredClassifier, case: Case, n_steps: int
) -> Trajectory:
    """Free energies at the start of mean field and after each of its steps."""
    energies = classifier.condition(*_stacked([case]))
    free, bound = [], []
    for energy in energies:
        start = energy.start()
        states = [start, *mean_field.steps(energy, start, n_steps)]
        free.append(torch.cat([energy.free_energy(v) for v in states]))
        bounds = [-mean_field.log_partition_bound(energy, v) for v in states]
        bound.append(torch.cat(bounds))
    return Trajectory(free_energy=_averaged(free), bound=_averaged(bound))


def _predicted(
    classifier: StructuredClassifier, cases: Sequence[Case]
) -> list[Prediction]:
    X, known = _stacked(cases)
    chances = classifier.predict_proba(X, known)
    if classifier.single_column_:
        chances = chances[:, 1:]
    if getattr(classifier, "prediction", "marginals") == "mode":
        predicted = classifier.predict(X, known)
    else:  # the model need not be asked twice: `predict` is this comparison
        predicted = (chances > classifier.thresholds_).astype(int)
    names = classifier.label_names_
    return [
        Prediction.model_construct(
            labels=_present(names, labels),
            prediction=labels.tolist(),
            probabilities=chance.tolist(),
        )
        for labels, chance in zip(predicted, chances, strict=True)
    ]


def _stacked(cases: Sequence[Case]) -> tuple[Rows, np.ndarray | None]:
    known = [case.known for case in cases if case.known is not None]
    return np.stack([case.u for case in cases]), np.stack(known) if known else None


def _present(names: Sequence[str], labels: np.ndarray) -> list[str]:
    return [name for name, label in zip(names, labels, strict=True) if label]


def _averaged(members: list[Tensor]) -> list[float]:
    return torch.stack(members).mean(0).tolist()
