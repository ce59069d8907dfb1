"""Checks of a stored state before a run continues from it.

A state that does not fit would raise in the middle of training, or train silently from
wrong numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from crbm.training.history import Epoch, History
from crbm.training.run import Run, are_finite, optimizer_state
from crbm.training.update import TorchUpdate

LARGEST = 2**63 - 1  # of whole numbers


def check_state(run: Run, state: Mapping[str, Any]) -> None:
    """Raise unless `run` can continue from `state`; nothing is changed."""
    expected = run.state()
    for name in ("weights", "last_good", "random"):
        _check_like(name, state[name], expected[name])
    _check_finite("last_good", state["last_good"])
    best = state.get("best")
    if best is not None and best.get("weights"):
        _check_like("best/weights", best["weights"], expected["weights"])
        _check_finite("best/weights", best["weights"])
    if best is not None:
        _check_number("best/error", best["error"])
        _check_count("best/epoch", best["epoch"], optional=True)
    _check_progress(state)
    _check_random(run, state["random"])
    if isinstance(run.update, TorchUpdate):
        started = state["n_updates"] > 0 or len(state["history"]["epochs"]) > 0
        stored = optimizer_state(state.get("optimizer", {}))
        _check_optimizer(run.update.optimizer, stored, started=started)


def _check_progress(state: Mapping[str, Any]) -> None:
    for name in ("n_updates", "n_seen"):
        _check_count(name, state[name])
    for name in ("total_loss", "seconds"):
        _check_number(name, state[name])
    history = History.from_dict(state["history"])
    for epoch in history.epochs:
        _check_epoch(epoch)
    _check_count("history/best_epoch", history.best_epoch, optional=True)
    if not isinstance(history.stopped, str | None):
        raise ValueError(f"`history/stopped` is {history.stopped!r}")


def _check_epoch(epoch: Epoch) -> None:
    _check_number("loss", epoch.loss)
    _check_number("seconds", epoch.seconds)
    if epoch.validation is not None:
        _check_number("validation", epoch.validation)


def _check_random(run: Run, states: Mapping[str, Tensor]) -> None:
    """Try the states of the generators on copies of them."""
    for name, generator in run.randomness.generators.items():
        torch.Generator(generator.device).set_state(states[name])
    torch.Generator().set_state(states["order"])


def _check_optimizer(
    optimizer: Optimizer, stored: dict[str, Any], *, started: bool
) -> None:
    """Compare with the state of a copy of the optimiser after one step, then try it."""
    trial = copy.deepcopy(optimizer)
    _check_groups(stored["param_groups"], trial.state_dict()["param_groups"])
    if not started and not stored["state"]:
        return
    _step_without_gradient(trial)
    expected = trial.state_dict()["state"]
    if stored["state"].keys() != expected.keys():
        raise ValueError("`optimizer` is not for the parameters of this model")
    for place, one in expected.items():
        _check_optimizer_state(f"optimizer/{place}", stored["state"][place], one)
    trial.load_state_dict(copy.deepcopy(stored))
    _step_without_gradient(trial)


def _step_without_gradient(optimizer: Optimizer) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.zeros_like(parameter)
    optimizer.step()


def _check_groups(stored: Any, expected: list[dict[str, Any]]) -> None:
    if not isinstance(stored, list) or len(stored) != len(expected):
        raise ValueError("`optimizer/param_groups` has the wrong number of groups")
    for ours, theirs in zip(stored, expected, strict=True):
        changed = [
            name
            for name in {**ours, **theirs}
            if name not in ("lr", "initial_lr") and not _same(ours, theirs, name)
        ]
        if changed:
            raise ValueError(f"`optimizer` has another `{changed[0]}`")
        _check_number("lr", ours["lr"])  # a schedule may have changed it


def _same(ours: dict[str, Any], theirs: dict[str, Any], name: str) -> bool:
    """Whether two groups agree on a parameter, which JSON may have made a list."""
    one, other = ours.get(name), theirs.get(name)
    return one == (list(other) if isinstance(other, tuple) else other)


def _check_optimizer_state(
    name: str, stored: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    if stored.keys() != expected.keys():
        raise ValueError(f"`{name}` has {sorted(stored)}, not {sorted(expected)}")
    for key, value in expected.items():
        if isinstance(value, Tensor):
            _check_tensor(f"{name}/{key}", stored[key], value)
        elif value is not None:
            _check_number(f"{name}/{key}", stored[key])


def _check_like(name: str, stored: Any, expected: Mapping[str, Tensor]) -> None:
    if not isinstance(stored, Mapping) or stored.keys() != expected.keys():
        raise ValueError(f"`{name}` does not hold {sorted(expected)}")
    for key, tensor in expected.items():
        _check_tensor(f"{name}/{key}", stored[key], tensor)


def _check_tensor(name: str, stored: Any, expected: Tensor) -> None:
    if not isinstance(stored, Tensor):
        raise ValueError(f"`{name}` is not a tensor")
    found, wanted = (f"{t.dtype} {tuple(t.shape)}" for t in (stored, expected))
    if found != wanted:
        raise ValueError(f"`{name}` is {found}, not {wanted}")


def _check_finite(name: str, weights: Mapping[str, Tensor]) -> None:
    if not are_finite(weights.values()):
        raise ValueError(f"`{name}` holds NaN or infinite numbers")


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"`{name}` is {value!r}, not a number")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"`{name}` is too large a number")


def _check_count(name: str, value: Any, *, optional: bool = False) -> None:
    if value is None and optional:
        return
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise ValueError(f"`{name}` is {value!r}, not a count")
