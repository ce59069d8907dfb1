"""Scaling and kernel features of inputs, learned on the training part only."""

from crbm.preprocessing.pipelines import KINDS, check_gamma, pipeline
from crbm.preprocessing.preprocessor import Preprocessor

__all__ = ["KINDS", "Preprocessor", "check_gamma", "pipeline"]
