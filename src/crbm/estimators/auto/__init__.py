"""AutoClassifier and the parts it pools."""

from crbm.estimators.auto.classifier import MEMBERS, AutoClassifier
from crbm.estimators.auto.pool import Entry

__all__ = ["MEMBERS", "AutoClassifier", "Entry"]
