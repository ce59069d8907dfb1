"""Classifiers that keep scikit-learn's contract."""

from crbm.estimators.auto import AutoClassifier
from crbm.estimators.crbm import CRBMClassifier
from crbm.estimators.crf import CRFClassifier
from crbm.estimators.files import load
from crbm.estimators.hash_crbm import HashCRBMClassifier
from crbm.estimators.logistic import LogisticClassifier
from crbm.estimators.pixels import PixelClassifier
from crbm.estimators.predictor import LabelSetClassifier, TopK
from crbm.estimators.regressor import CRBMRegressor
from crbm.estimators.saved_pipelines import save
from crbm.estimators.structured import StructuredClassifier

__all__ = [
    "AutoClassifier",
    "CRBMClassifier",
    "CRBMRegressor",
    "CRFClassifier",
    "HashCRBMClassifier",
    "LabelSetClassifier",
    "LogisticClassifier",
    "PixelClassifier",
    "StructuredClassifier",
    "TopK",
    "load",
    "save",
]
