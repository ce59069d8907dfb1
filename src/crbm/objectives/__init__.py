"""Objectives: learning rules that name states and leave gradients to the model."""

from crbm.objectives.base import Objective, start
from crbm.objectives.belief_likelihood import BeliefLikelihood
from crbm.objectives.candidate_likelihood import CandidateLikelihood
from crbm.objectives.contrastive_constraints import ContrastiveConstraints
from crbm.objectives.contrastive_divergence import (
    ContrastiveDivergence,
    PersistentContrastiveDivergence,
)
from crbm.objectives.exact_likelihood import ExactLikelihood
from crbm.objectives.max_margin import MaxMargin
from crbm.objectives.mean_field_likelihood import MeanFieldLikelihood
from crbm.objectives.perceptron import Perceptron
from crbm.objectives.pseudo_likelihood import PseudoLikelihood
from crbm.objectives.ratio_matching import RatioMatching

__all__ = [
    "BeliefLikelihood",
    "CandidateLikelihood",
    "ContrastiveConstraints",
    "ContrastiveDivergence",
    "ExactLikelihood",
    "MaxMargin",
    "MeanFieldLikelihood",
    "Objective",
    "Perceptron",
    "PersistentContrastiveDivergence",
    "PseudoLikelihood",
    "RatioMatching",
    "start",
]
