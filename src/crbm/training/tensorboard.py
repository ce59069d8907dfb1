"""Curves for TensorBoard: `pip install crbm[tensorboard]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crbm.training.history import Epoch
from crbm.training.hooks import Hook
from crbm.training.run import Run

MISSING = "TensorBoard logs need tensorboard. Install it with `crbm[tensorboard]`."


class TensorBoard(Hook):
    """Logs each epoch's loss, validation error and time.

    A resumed run continues in the same folder; what was logged after its checkpoint is
    replaced.

    Parameters
    ----------
    folder
        Where the event files go; look at them with `tensorboard --logdir folder`.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._writer: Any = None
        _writer_class()  # a missing package raises before the training

    def __call__(self, place: int, epoch: Epoch) -> None:
        if self._writer is None:
            self._writer = _writer_class()(str(self.folder), purge_step=place)
        for name, value in epoch._asdict().items():
            if value is not None:
                self._writer.add_scalar(name, value, place)
        self._writer.flush()

    def after_epoch(self, run: Run) -> None:
        self(run.n_epochs - 1, run.history.epochs[-1])

    def close(self) -> None:
        """Close the event file; the next epoch starts another."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _writer_class() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError(MISSING) from error
    return SummaryWriter
