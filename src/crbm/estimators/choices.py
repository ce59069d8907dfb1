"""Checks of parameters that are a name with parameters of its own, or an object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

from crbm import checks

MODULES = {"objective": "objectives", "inference": "inference"}


def check_choice(
    name: str, choice: Any, parameters: Any, named: Mapping[str, Callable[..., Any]]
) -> None:
    """Refuse what is neither a known name, with its parameters, nor an object."""
    if isinstance(choice, str):
        checks.one_of(name, choice, named)
        _check_parameters(f"{name}_params", parameters, named[choice])
    elif isinstance(choice, type) or not callable(choice):
        listed = ", ".join(repr(each) for each in named)
        raise TypeError(
            f"`{name}` must be one of {listed}, or an object of "
            f"crbm.{MODULES[name]} that can be called; got {choice!r}."
        )
    elif parameters is not None:
        raise ValueError(
            f"`{name}_params` goes with a name; `{name}` is an object, which has its "
            "parameters itself."
        )


def _check_parameters(name: str, parameters: Any, of: Callable[..., Any]) -> None:
    """Refuse parameters that an objective or an inference does not have."""
    if parameters is None:
        return
    if not isinstance(parameters, Mapping):
        raise TypeError(
            f"`{name}` must be a dictionary, e.g. {{'n_steps': 10}}; got "
            f"{parameters!r}."
        )
    known = [
        option
        for option, parameter in signature(of).parameters.items()
        if _is_plain(parameter)
    ]
    for each in parameters:
        if each not in known:
            listed = ", ".join(f"`{option}`" for option in known) or "none"
            raise ValueError(f"`{name}` has no `{each}` here; use {listed}.")


def _is_plain(parameter: Parameter) -> bool:
    """Whether a parameter is a number, a text or a list of numbers."""
    if parameter.default is None:
        return str(parameter.annotation).startswith("Sequence[float]")
    return isinstance(parameter.default, int | float | str)
