"""A CRBM trained by any objective, read out by any inference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

from torch import Generator

from crbm import checks, objectives
from crbm.energies import Energy
from crbm.estimators.choices import check_choice
from crbm.estimators.structured import StructuredClassifier
from crbm.inference import exact, loopy_bp, mean_field, search
from crbm.models import CRBM, EnergyModel
from crbm.objectives import Objective
from crbm.types import Batch, Found, Marginals

Inference = Callable[[Energy], Found | Marginals]

# All outputs are enumerated by "auto" up to this many: 4096.
FEW_BITS = 12
# Up to this many labels "auto" trains by mean field; more are pixels, as a rule.
FEW_LABELS = 500
OBJECTIVES: dict[str, Callable[..., Objective]] = {
    kind.short_name: kind
    for kind in (getattr(objectives, name) for name in objectives.__all__)
    if hasattr(kind, "short_name")
}
INFERENCES: dict[str, Callable[..., Found | Marginals]] = {
    "mean_field": mean_field.run,
    "loopy_bp": loopy_bp.run,
    "search": search.mean_field,
    "exact": exact.marginals,
}


@dataclass(eq=False, repr=False, kw_only=True)
class CRBMClassifier(StructuredClassifier):
    """A conditional RBM over the labels, with the paper's objectives.

    For the training parameters see `StructuredClassifier`.

    Parameters
    ----------
    n_hidden, init_scale
        Hidden units, through which the labels depend on each other, and the standard
        deviation of their initial couplings.
    hidden_bias
        Initial log-odds of the hidden units, with labels at their base rates; None
        starts all biases at zero. On images -2 often ends better.
    objective, objective_params
        An object of `crbm.objectives`, or a name: "perceptron" (CD-PercLoss), "cd",
        "max_margin", "mean_field" (best after one of the others, with `warm_start`),
        "constraints" (contrastive constraint generation), "pseudo_likelihood",
        "ratio_matching" or, with at most 20 labels, "exact"; the parameters of a named
        one, e.g. `{"n_steps": 10}`. "auto" is "exact" for columns of classes with at
        most 4096 combinations, as one column always has, "mean_field" for at most
        500 labels if the learning rate is "auto", and "perceptron" otherwise.
    inference, inference_params
        How to predict: a function of an energy, e.g. `partial(mean_field.run,
        n_steps=5)`, or a name: "mean_field", "loopy_bp", "search" (the lowest free
        energy met by mean field, as the paper predicts images) or "exact"; the
        parameters of a named one. "auto" is "exact" where the objective "auto" is, and
        "mean_field" otherwise.

    Notes
    -----
    With one column of classes p(v | u) is a sum over the classes, and its gradient is
    exact [2]_.

    References
    ----------
    .. [2] H. Larochelle and Y. Bengio, "Classification using discriminative restricted
       Boltzmann machines", ICML 2008.

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
    objective: str | Objective = "auto"
    objective_params: dict[str, Any] | None = None
    inference: str | Inference = "auto"
    inference_params: dict[str, Any] | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        usual = {"auto": OBJECTIVES["perceptron"], **OBJECTIVES}
        check_choice("objective", self.objective, self.objective_params, usual)
        ways = {"auto": INFERENCES["mean_field"], **INFERENCES}
        check_choice("inference", self.inference, self.inference_params, ways)
        bias = self.hidden_bias
        if bias is not None and not isfinite(checks.number("hidden_bias", bias)):
            raise ValueError(f"`hidden_bias` must be finite; got {bias}.")

    short_name = "crbm"
    several_classes = True

    def _new_model(self, n_inputs: int, generator: Generator | None) -> EnergyModel:
        return CRBM(
            n_inputs,
            self.n_labels_,
            self.n_hidden,
            generator,
            init_scale=self.init_scale,
            visible=self._visible,
        )

    def _start(self, model: EnergyModel, data: Batch) -> None:
        super()._start(model, data)
        if self.hidden_bias is not None:
            assert isinstance(model, CRBM)
            model.start_biases(data.v, hidden=self.hidden_bias, weight=data.weight)

    def _objective(self) -> Objective:
        if not isinstance(self.objective, str):
            return self.objective
        mean_field = self.learning_rate == "auto" and self.n_labels_ <= FEW_LABELS
        many = "mean_field" if mean_field else "perceptron"
        name = self._choose("objective", "exact", many)
        return OBJECTIVES[name](**(self.objective_params or {}))

    def _infer(self, energy: Energy, cases: Batch) -> Found | Marginals:
        if not isinstance(self.inference, str):
            return self.inference(energy)
        name = self._choose("inference", "exact", "mean_field")
        return INFERENCES[name](energy, **(self.inference_params or {}))

    def _choose(self, parameter: str, few: str, many: str) -> str:
        """The name of a choice; "auto" depends on how many outputs there are."""
        name = str(getattr(self, parameter))
        if name != "auto":
            return name
        if self.columns_ is None:
            return many
        return few if self._visible.n_bits(self.n_labels_) <= FEW_BITS else many
