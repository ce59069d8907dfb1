"""Structured output prediction with conditional restricted Boltzmann machines."""

from crbm import inference, objectives, training, types
from crbm.models import CRBM, CRF, RBM, EnergyModel

__version__ = "0.1.0"

__all__ = [
    "CRBM",
    "CRF",
    "RBM",
    "EnergyModel",
    "inference",
    "objectives",
    "training",
    "types",
]
