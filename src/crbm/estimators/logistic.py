"""One logistic regression per label: the baseline of the paper."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Generator

from crbm.energies import Energy
from crbm.estimators.structured import StructuredClassifier
from crbm.inference import mean_field
from crbm.models import CRBM, EnergyModel
from crbm.objectives import ExactLikelihood, Objective
from crbm.types import Batch, Marginals


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticClassifier(StructuredClassifier):
    """Each label predicted on its own: a CRBM without hidden units.

    For the training parameters see `StructuredClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> LogisticClassifier(random_state=0).fit(X, Y).predict_proba(X).shape
    (100, 5)
    """

    short_name = "logreg"
    has_cheap_joint = True
    several_classes = True

    def _new_model(self, n_inputs: int, generator: Generator | None) -> EnergyModel:
        return CRBM(n_inputs, self.n_labels_, 0, generator, visible=self._visible)

    def _objective(self) -> Objective:
        return ExactLikelihood()

    def _infer(self, energy: Energy, cases: Batch) -> Marginals:
        return mean_field.run(energy, n_steps=1)
