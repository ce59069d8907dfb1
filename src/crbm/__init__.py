"""Structured output prediction with conditional restricted Boltzmann machines."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

# Type checkers read these imports; at run time `__getattr__` imports a name when it is
# first used, so that `import crbm` and `crbm --help` do not wait for torch.
if TYPE_CHECKING:
    from crbm import (
        datasets as datasets,
        decisions as decisions,
        energies as energies,
        estimators as estimators,
        hashing as hashing,
        inference as inference,
        metrics as metrics,
        models as models,
        objectives as objectives,
        plotting as plotting,
        preprocessing as preprocessing,
        sampling as sampling,
        training as training,
        types as types,
        units as units,
    )
    from crbm.estimators import *  # noqa: F403
    from crbm.models import *  # noqa: F403

__version__ = "0.1.0"

_SUBMODULES = [
    "datasets",
    "decisions",
    "energies",
    "estimators",
    "hashing",
    "inference",
    "metrics",
    "models",
    "objectives",
    "plotting",
    "preprocessing",
    "sampling",
    "training",
    "types",
    "units",
]
# Packages whose public names are names of `crbm` too.
_HOMES = ("crbm.models", "crbm.estimators")


def __getattr__(name: str) -> Any:
    """Import a submodule, or a public name of `_HOMES`, when it is first used."""
    if name == "__all__":
        homes = map(import_module, _HOMES)
        return sorted(
            {*_SUBMODULES, *(each for home in homes for each in home.__all__)}
        )
    if not name.startswith("_"):
        if find_spec(f"crbm.{name}"):
            return import_module(f"crbm.{name}")
        for home in map(import_module, _HOMES):
            if name in home.__all__:
                globals()[name] = getattr(home, name)
                return globals()[name]
    raise AttributeError(f"module 'crbm' has no attribute {name!r}")


def __dir__() -> list[str]:
    """All public names; the first call imports the packages of `_HOMES`."""
    return sorted({*globals(), *__getattr__("__all__")})
