"""Training: the loop, its optimisers, early stopping and the record of a run."""

from crbm.training.early_stopping import PredictionError
from crbm.training.history import Epoch, History
from crbm.training.loop import fit

__all__ = ["Epoch", "History", "PredictionError", "fit"]
