"""Checkpoints and progress of a classifier's training: one file per member."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crbm import checks
from crbm.training import Checkpoint
from crbm.training.locks import file_lock

LOCK = "fit.lock"

# Parameters of the run, not of what is learned; files of classifiers leave them out.
OF_THE_RUN = ("checkpoint_dir", "checkpoint_every", "resume", "progress")
# What a resumed fit may change: its length, and what does not decide its course.
FREE = (*OF_THE_RUN, "n_epochs", "n_threads", "thresholds", "class_weight")


def check(classifier: Any) -> None:
    """Check that this fit could be resumed."""
    checks.not_negative("checkpoint_every", classifier.checkpoint_every)
    if classifier.checkpoint_dir is None:
        if classifier.resume:
            raise ValueError("`resume` needs a `checkpoint_dir` to continue from.")
        return
    if classifier.random_state is None:
        raise ValueError(
            "`checkpoint_dir` needs a `random_state`: without one, no later fit can "
            "continue where this one stops. Give it a number."
        )


@contextmanager
def locked_folder(classifier: Any, *, stored: bool) -> Iterator[None]:
    """Keep other fits out of the folder of checkpoints."""
    if not stored or classifier.checkpoint_dir is None:
        yield
        return
    folder = Path(classifier.checkpoint_dir)
    folder.mkdir(parents=True, exist_ok=True)
    with file_lock(folder / LOCK, f"The folder of checkpoints `{folder}`"):
        yield


def run_options(classifier: Any, *, stored: bool) -> list[dict[str, Any]]:
    """Checkpoint and progress arguments of `training.fit` for each member."""
    progress = {"progress": classifier.progress}
    if not stored or classifier.checkpoint_dir is None:
        return [progress for _ in classifier.models_]
    parameters = classifier.get_params(deep=False)
    shared = {name: parameters[name] for name in parameters if name not in FREE}
    if shared["stop_by"] == "error":  # absent from checkpoints of earlier versions
        del shared["stop_by"]
    files = [
        Path(classifier.checkpoint_dir, f"model-{place}.safetensors")
        for place in range(len(classifier.models_))
    ]
    return [
        {
            "checkpoint": Checkpoint(
                file, classifier.checkpoint_every, settings=shared
            ),
            "resume": classifier.resume,
            **progress,
        }
        for file in files
    ]
