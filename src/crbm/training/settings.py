"""What a resumed run must share with the one it goes on from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

import torch

from crbm.objectives import Objective
from crbm.training.batches import InMemory, Streamed
from crbm.training.early_stopping import PredictionError
from crbm.training.run import Run
from crbm.types import Cases

N_PROBES = 64


def settings(
    run: Run, data: InMemory | Streamed, options: Mapping[str, Any]
) -> dict[str, Any]:
    """All that decides the course of a run but its length, as plain data."""
    weights = run.model.state_dict()
    groups = run.update.state().get("param_groups", [])
    described = {
        "model": type(run.model).__name__,
        "weights": {name: [str(w.dtype), *w.shape] for name, w in weights.items()},
        "objective": _rule(run.objective),
        "optimizer": [{k: v for k, v in g.items() if k != "params"} for g in groups],
        "patience": run.best.patience,
        "seed": None if run.generator is None else run.generator.initial_seed(),
        "data": _digest(data.cases) if isinstance(data, InMemory) else "a stream",
        **options,
    }
    return json.loads(json.dumps(described, default=_named))


def differences(kept: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Each setting that changed, with its two values.

    Examples
    --------
    >>> differences({"l2": 0.0, "seed": 1}, {"l2": 0.5, "seed": 1})
    ['`l2` was 0.0 and is 0.5']
    """
    names = [name for name in {**kept, **now} if kept.get(name) != now.get(name)]
    return [f"`{name}` was {kept.get(name)} and is {now.get(name)}" for name in names]


def _rule(objective: Objective) -> str:
    """A learning rule with its own settings, where it tells them."""
    return repr(objective) if is_dataclass(objective) else _named(objective)


def _named(thing: Any) -> str:
    """A name that is the same in every process."""
    if isinstance(thing, PredictionError) and thing.measure != "error":
        return f"PredictionError by {thing.measure}"
    return getattr(thing, "__qualname__", type(thing).__qualname__)


def _digest(cases: Cases) -> str:
    """The number of cases, and a checksum of some of them all over the data."""
    rows = torch.linspace(0, cases.n_cases - 1, N_PROBES).long().unique()
    checksum = hashlib.sha256()
    for column in (cases.u, cases.v, cases.weight):
        if column is not None:
            probes = column[rows.to(column.device)].cpu().contiguous()
            checksum.update(f"{column.dtype} {tuple(column.shape)}".encode())
            checksum.update(probes.view(torch.uint8).numpy().tobytes())
    return f"{cases.n_cases} cases with checksum {checksum.hexdigest()[:12]}"
