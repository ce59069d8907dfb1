"""Checkpoints and progress of a classifier's training: one file per member."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crbm.training import Checkpoint

# Parameters of the run, not of what is learned; files of classifiers leave them out.
OF_THE_RUN = ("checkpoint_dir", "resume", "progress")
# What a resumed fit may change: its length, and what does not decide its course.
FREE = (*OF_THE_RUN, "n_epochs", "n_threads", "thresholds")


def check(classifier: Any) -> None:
    """Check that this fit could be resumed."""
    if classifier.checkpoint_dir is None:
        if classifier.resume:
            raise ValueError("`resume` needs a `checkpoint_dir` to continue from.")
        return
    if classifier.random_state is None:
        raise ValueError(
            "`checkpoint_dir` needs a `random_state`: without one, no later fit can "
            "continue where this one stops. Give it a number."
        )


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
            "checkpoint": Checkpoint(file, settings=shared),
            "resume": classifier.resume,
            **progress,
        }
        for file in files
    ]
