"""Structured output prediction with conditional restricted Boltzmann machines."""

from crbm import (
    datasets,
    hashing,
    inference,
    metrics,
    objectives,
    training,
    types,
    units,
)
from crbm.estimators import (
    CRBMClassifier,
    CRFClassifier,
    HashCRBMClassifier,
    LogisticClassifier,
    load,
)
from crbm.models import CRBM, CRF, RBM, ConvCRBM, EnergyModel, NetworkCRBM

__version__ = "0.1.0"

__all__ = [
    "CRBM",
    "CRF",
    "RBM",
    "CRBMClassifier",
    "CRFClassifier",
    "ConvCRBM",
    "EnergyModel",
    "HashCRBMClassifier",
    "LogisticClassifier",
    "NetworkCRBM",
    "datasets",
    "hashing",
    "inference",
    "load",
    "metrics",
    "objectives",
    "training",
    "types",
    "units",
]
