"""A fully connected conditional random field over the labels."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Generator

from crbm.energies import Energy
from crbm.estimators.structured import StructuredClassifier
from crbm.inference import loopy_bp
from crbm.models import CRF, EnergyModel
from crbm.objectives import BeliefLikelihood, Objective
from crbm.types import Batch, Marginals


@dataclass(eq=False, repr=False, kw_only=True)
class CRFClassifier(StructuredClassifier):
    """Labels coupled in pairs, learned and predicted with loopy belief propagation.

    For the training parameters see `StructuredClassifier`.

    Parameters
    ----------
    n_steps, damping
        Of belief propagation; the paper takes 50 steps and tries dampings 0, 0.3, 0.6.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> CRFClassifier(n_epochs=5, random_state=0).fit(X, Y).predict(X).shape
    (100, 5)
    """

    n_steps: int = 50
    damping: float = 0.3

    short_name = "crf"

    def _new_model(self, n_inputs: int, generator: Generator | None) -> EnergyModel:
        return CRF(n_inputs, self.n_labels_, generator)

    def _objective(self) -> Objective:
        return BeliefLikelihood(self.n_steps, self.damping)

    def _infer(self, energy: Energy, cases: Batch) -> Marginals:
        return loopy_bp.run(energy, n_steps=self.n_steps, damping=self.damping)
