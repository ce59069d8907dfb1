"""What a resumed run must share with the run it continues."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import torch

from crbm.messages import one_line
from crbm.objectives import Objective
from crbm.training.batches import InMemory
from crbm.training.early_stopping import PredictionError
from crbm.training.run import Run
from crbm.types import Cases

N_PROBES = 64


def describe(run: Run) -> dict[str, Any]:
    """All that decides the course of a run except its length, as plain data."""
    weights = run.model.state_dict()
    groups = run.update.state().get("param_groups", [])
    seed = run.randomness.order
    described = {
        "model": type(run.model).__name__,
        "weights": {name: [str(w.dtype), *w.shape] for name, w in weights.items()},
        "objective": _describe_objective(run.objective),
        "optimizer": [{k: v for k, v in g.items() if k != "params"} for g in groups],
        "patience": None,
        "validation": None,
        "seed": None if seed is None else seed.initial_seed(),
        "data": _digest(run.data.cases)
        if isinstance(run.data, InMemory)
        else "a stream",
        **run.settings,
    }
    for hook in run.hooks:
        described |= hook.describe()
    return as_plain(described)


def as_plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they come back from a JSON file."""
    return json.loads(json.dumps(dict(settings), default=_name))


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Each setting that changed, with its two values.

    Examples
    --------
    >>> differences({"l2": 0.0, "seed": 1}, {"l2": 0.5, "seed": 1})
    ['`l2` was 0.0 and is 0.5']
    """
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return [
        one_line(f"`{name}` was {before.get(name)} and is {now.get(name)}", 200)
        for name in names
    ]


def _describe_objective(objective: Objective) -> str:
    """An objective with its parameters, where they can be read."""
    objective = getattr(objective, "origin", objective)
    if not is_dataclass(objective):
        return _name(objective)
    values = {each: getattr(objective, each.name) for each in fields(objective)}
    shown = ", ".join(
        f"{each.name}={value!r}"
        for each, value in values.items()
        if not (each.metadata.get("added_later") and value == each.default)
    )
    return f"{type(objective).__qualname__}({shown})"


def _name(thing: Any) -> str:
    """A name that is the same in every process."""
    if isinstance(thing, PredictionError) and thing.measure != "error":
        return f"PredictionError by {thing.measure}"
    return getattr(thing, "__qualname__", type(thing).__qualname__)


def _digest(cases: Cases) -> str:
    """The number of cases, and a checksum of some of them all over the data."""
    # the dtype must not follow torch's default: a resumed run takes the same rows
    rows = torch.linspace(0, cases.n_cases - 1, N_PROBES, dtype=torch.float32)
    rows = rows.long().unique()
    checksum = hashlib.sha256()
    for column in (cases.u, cases.v, cases.weight):
        if column is not None:
            probes = column[rows.to(column.device)].cpu().contiguous()
            checksum.update(f"{column.dtype} {tuple(column.shape)}".encode())
            checksum.update(probes.view(torch.uint8).numpy().tobytes())
    return f"{cases.n_cases} cases with checksum {checksum.hexdigest()[:12]}"
