"""Models: parameters, the free energy they define, and its gradient."""

from crbm.models.base import EnergyModel
from crbm.models.conv import ConvCRBM
from crbm.models.crbm import CRBM
from crbm.models.crf import CRF
from crbm.models.gaussian import GaussianCRBM
from crbm.models.network import NetworkCRBM
from crbm.models.rbm import RBM

__all__ = [
    "CRBM",
    "CRF",
    "RBM",
    "ConvCRBM",
    "EnergyModel",
    "GaussianCRBM",
    "NetworkCRBM",
]
