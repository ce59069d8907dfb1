"""AutoClassifier and the parts it pools."""

from crbm.estimators.auto.catalogue import MEMBERS
from crbm.estimators.auto.classifier import AutoClassifier
from crbm.estimators.auto.pool import Entry

__all__ = ["MEMBERS", "AutoClassifier", "Entry"]
