"""A CRBM trained by any learning rule, read out by any inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from math import isfinite
from typing import Any

from torch import Generator

from crbm import checks
from crbm.energies import Energy
from crbm.estimators.joint import UnlimitedClassifier
from crbm.inference import exact, loopy_bp, mean_field, search
from crbm.models import CRBM, EnergyModel
from crbm.objectives import (
    ContrastiveDivergence,
    ExactLikelihood,
    MaxMargin,
    MeanFieldLikelihood,
    Objective,
    Perceptron,
)
from crbm.types import Batch, Found, Marginals

OBJECTIVES: dict[str, Callable[..., Objective]] = {
    "cd": ContrastiveDivergence,
    "perceptron": Perceptron,
    "max_margin": MaxMargin,
    "mean_field": MeanFieldLikelihood,
    "exact": ExactLikelihood,
}
INFERENCES: dict[str, Callable[..., Found | Marginals]] = {
    "mean_field": mean_field.run,
    "loopy_bp": loopy_bp.run,
    "search": search.mean_field,
    "exact": exact.marginals,
}


@dataclass(eq=False, repr=False, kw_only=True)
class CRBMClassifier(UnlimitedClassifier):
    """A conditional RBM over the labels, with the paper's learning rules.

    For the training parameters see `Learner`.

    Parameters
    ----------
    n_hidden, init_scale
        Hidden units, through which the labels depend on each other, and the standard
        deviation of their initial couplings.
    hidden_bias
        The log-odds that hidden units start at, while labels start at how often they
        are on; None starts all biases at zero. On many images -2 ends better.
    objective, objective_params
        The learning rule: "perceptron" (CD-PercLoss), "cd", "max_margin", "mean_field"
        (best after one of the others, with `warm_start`) or, with at most 20 labels,
        "exact"; and its settings, e.g. `{"n_steps": 10}`.
    inference, inference_params
        How to predict: "mean_field", "loopy_bp", "search" (the lowest free energy met
        by mean field, as the paper predicts images) or "exact"; and its settings.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> classifier = CRBMClassifier(objective="cd", n_epochs=5, random_state=0)
    >>> classifier.fit(X, Y).predict(X).shape
    (100, 5)
    """

    n_hidden: int = 128
    init_scale: float = 0.01
    hidden_bias: float | None = None
    objective: str = "perceptron"
    objective_params: dict[str, Any] | None = None
    inference: str = "mean_field"
    inference_params: dict[str, Any] | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checks.one_of("objective", self.objective, OBJECTIVES)
        checks.one_of("inference", self.inference, INFERENCES)
        bias = self.hidden_bias
        if bias is not None and not isfinite(checks.number("hidden_bias", bias)):
            raise ValueError(f"`hidden_bias` must be finite; got {bias}.")
        for which, functions in (("objective", OBJECTIVES), ("inference", INFERENCES)):
            name = f"{which}_params"
            _check_settings(name, getattr(self, name), functions[getattr(self, which)])

    def _new_model(self, n_inputs: int, generator: Generator) -> EnergyModel:
        return CRBM(
            n_inputs,
            self.n_labels_,
            self.n_hidden,
            generator,
            init_scale=self.init_scale,
        )

    def _start(self, model: EnergyModel, data: Batch) -> None:
        if self.hidden_bias is not None:
            assert isinstance(model, CRBM)
            model.start_biases(data.v, hidden=self.hidden_bias, weight=data.weight)

    def _objective(self) -> Objective:
        return OBJECTIVES[self.objective](**(self.objective_params or {}))

    def _infer(self, energy: Energy, cases: Batch) -> Found | Marginals:
        return INFERENCES[self.inference](energy, **(self.inference_params or {}))


def _check_settings(name: str, settings: Any, of: Callable[..., Any]) -> None:
    """Refuse settings that a learning rule or an inference does not have."""
    if settings is None:
        return
    if not isinstance(settings, Mapping):
        raise TypeError(
            f"`{name}` must be a dictionary, e.g. {{'n_steps': 10}}; got {settings!r}."
        )
    known = [
        option
        for option, parameter in signature(of).parameters.items()
        if isinstance(parameter.default, int | float | str)
    ]
    for each in settings:
        if each not in known:
            listed = ", ".join(f"`{option}`" for option in known) or "none"
            raise ValueError(f"`{name}` has no `{each}` here; use {listed}.")
