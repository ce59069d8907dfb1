"""AutoClassifier and the parts it pools."""

from crbm.estimators.auto.classifier import AutoClassifier

__all__ = ["AutoClassifier"]
