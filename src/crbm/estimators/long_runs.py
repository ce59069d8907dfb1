"""How a classifier's training is kept and shown: one checkpoint for each model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crbm.training import Checkpoint

# Parameters of the run, not of what is learned; files of classifiers leave them out.
OF_THE_RUN = ("checkpoint_dir", "resume", "progress")
# A resumed fit may change these too: its length, and what does not decide its course.
FREE = (*OF_THE_RUN, "n_epochs", "n_threads", "thresholds")


def check(classifier: Any) -> None:
    """Refuse parameters with which no later fit could go on where this one stops."""
    if classifier.checkpoint_dir is None:
        if classifier.resume:
            raise ValueError("`resume` needs a `checkpoint_dir` to go on from.")
        return
    if classifier.random_state is None:
        raise ValueError(
            "`checkpoint_dir` needs a `random_state`: without one, no later fit can go "
            "on where this one stops. Give it a number."
        )


def run_options(classifier: Any, *, kept: bool) -> list[dict[str, Any]]:
    """What `training.fit` is told for each model beyond the learning itself."""
    shown = {"progress": classifier.progress}
    if not kept or classifier.checkpoint_dir is None:
        return [shown for _ in classifier.models_]
    parameters = classifier.get_params()
    shared = {name: parameters[name] for name in parameters if name not in FREE}
    if shared["stop_by"] == "error":  # which checkpoints did not tell at first
        del shared["stop_by"]
    files = [
        Path(classifier.checkpoint_dir, f"model-{place}.safetensors")
        for place in range(len(classifier.models_))
    ]
    return [
        {
            "checkpoint": Checkpoint(file, settings=shared),
            "resume": classifier.resume,
            **shown,
        }
        for file in files
    ]
