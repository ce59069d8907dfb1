"""Training: the loop, its optimisers, early stopping, checkpoints and the record."""

from crbm.training.checkpoint import Checkpoint
from crbm.training.early_stopping import PredictionError
from crbm.training.history import Epoch, History
from crbm.training.interrupts import Interrupted
from crbm.training.loop import fit
from crbm.training.tensorboard import TensorBoard

__all__ = [
    "Checkpoint",
    "Epoch",
    "History",
    "Interrupted",
    "PredictionError",
    "TensorBoard",
    "fit",
]
