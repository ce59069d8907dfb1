"""Structured output prediction with conditional restricted Boltzmann machines."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

# Type checkers read these imports; at run time `__getattr__` imports a name when it is
# first used, so that `import crbm` and `crbm --help` do not wait for torch.
if TYPE_CHECKING:
    from crbm import (
        datasets,
        decisions,
        energies,
        estimators,
        hashing,
        inference,
        metrics,
        models,
        objectives,
        plotting,
        preprocessing,
        sampling,
        training,
        types,
        units,
    )
    from crbm.estimators import (
        AutoClassifier,
        CRBMClassifier,
        CRFClassifier,
        HashCRBMClassifier,
        LogisticClassifier,
        load,
    )
    from crbm.models import CRBM, CRF, RBM, ConvCRBM, EnergyModel, NetworkCRBM

__version__ = "0.1.0"

__all__ = [
    "CRBM",
    "CRF",
    "RBM",
    "AutoClassifier",
    "CRBMClassifier",
    "CRFClassifier",
    "ConvCRBM",
    "EnergyModel",
    "HashCRBMClassifier",
    "LogisticClassifier",
    "NetworkCRBM",
    "datasets",
    "decisions",
    "energies",
    "estimators",
    "hashing",
    "inference",
    "load",
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

# Where the names of `__all__` are defined that are not submodules.
_HOMES = ("crbm.models", "crbm.estimators")


def __getattr__(name: str) -> Any:
    """Import a submodule, or a name of `__all__`, when it is first used."""
    if not name.startswith("_") and find_spec(f"crbm.{name}"):
        return import_module(f"crbm.{name}")
    if name in __all__:
        home = next(home for home in map(import_module, _HOMES) if hasattr(home, name))
        globals()[name] = getattr(home, name)
        return globals()[name]
    raise AttributeError(f"module 'crbm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
