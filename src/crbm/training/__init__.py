"""Training: the loop, its optimisers, hooks and the record of a run."""

from crbm.training.checkpoint import Checkpoint
from crbm.training.early_stopping import EarlyStopping, PredictionError
from crbm.training.history import Epoch, History
from crbm.training.hooks import Hook
from crbm.training.interrupts import Interrupted
from crbm.training.loop import fit
from crbm.training.progress import Progress
from crbm.training.run import Run
from crbm.training.schedule import CosineSchedule, OneCycleSchedule
from crbm.training.tensorboard import TensorBoard

__all__ = [
    "Checkpoint",
    "CosineSchedule",
    "EarlyStopping",
    "Epoch",
    "History",
    "Hook",
    "Interrupted",
    "OneCycleSchedule",
    "PredictionError",
    "Progress",
    "Run",
    "TensorBoard",
    "fit",
]
