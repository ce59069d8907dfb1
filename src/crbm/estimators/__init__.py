"""Classifiers that keep scikit-learn's contract."""

from crbm.estimators.base import StructuredClassifier, TopK
from crbm.estimators.crbm import CRBMClassifier
from crbm.estimators.crf import CRFClassifier
from crbm.estimators.hash_crbm import HashCRBMClassifier
from crbm.estimators.logistic import LogisticClassifier
from crbm.estimators.saved import load

__all__ = [
    "CRBMClassifier",
    "CRFClassifier",
    "HashCRBMClassifier",
    "LogisticClassifier",
    "StructuredClassifier",
    "TopK",
    "load",
]
