"""Fitted regressors as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from crbm import persistence
from crbm.estimators import file_checks, inputs
from crbm.estimators.base_blend import Blend, Columns, Ridge
from crbm.estimators.base_trees import TreeRegression
from crbm.models.gaussian import GaussianCRBM
from crbm.preprocessing.packing import below
from crbm.training import distributed

if TYPE_CHECKING:
    from crbm.estimators.regressor import CRBMRegressor

CLASS = "CRBMRegressor"
ARRAYS = ("center_", "scale_", "input_center_", "input_scale_")
PLAIN = ("n_targets_", "single_target_", "target_names_", "n_features_in_", "history_")


def save(regressor: CRBMRegressor, path: str | Path) -> None:
    """Write a fitted regressor to one file."""
    check_is_fitted(regressor)
    if not isinstance(regressor.base, str | None):
        raise ValueError(
            'Only a regressor with a base regression of this library ("auto", "ridge") '
            f"is saved without code; this one has {type(regressor.base).__name__}. Use "
            "joblib.dump for it."
        )
    tensors = {name: torch.from_numpy(getattr(regressor, name)) for name in ARRAYS}
    tensors |= {f"base.{name}": t for name, t in _base_state(regressor.base_).items()}
    for name, weight in regressor.model_.state_dict().items():
        tensors[f"model.{name}"] = weight
    plain, encoded = inputs.state(regressor)
    finite = {k: t for k, t in tensors.items() if k != "input_scale_"}
    file_checks.check_tensors(finite)
    fitted = {name: getattr(regressor, name) for name in PLAIN} | plain
    if hasattr(regressor, "feature_names_in_"):
        fitted["feature_names_in_"] = list(regressor.feature_names_in_)
    parameters = regressor.get_params(deep=False) | {"random_state": None}
    described = {
        "class": CLASS,
        "parameters": parameters,
        "fitted": fitted,
        "versions": {"torch": torch.__version__},
    }
    if distributed.writes_files():
        persistence.write(path, tensors | encoded, described)


def restore(tensors: dict[str, Tensor], described: dict[str, Any]) -> CRBMRegressor:
    """The regressor that `save` wrote."""
    from crbm.estimators.regressor import CRBMRegressor

    regressor = CRBMRegressor(**described["parameters"])
    regressor._check_parameters()
    fitted = described["fitted"]
    for name in PLAIN:
        setattr(regressor, name, fitted[name])
    for name in ARRAYS:
        setattr(regressor, name, tensors[name].numpy())
    if "feature_names_in_" in fitted:
        names = np.asarray(fitted["feature_names_in_"], dtype=object)
        regressor.feature_names_in_ = names
    inputs.restore(regressor, fitted, tensors)
    file_checks.check_tensors({k: t for k, t in tensors.items() if k != "input_scale_"})
    n_inputs = len(regressor.input_center_)
    n_features = n_inputs - regressor.n_targets_
    regressor.base_ = _base(below("base.", tensors), n_features, regressor.n_targets_)
    model = GaussianCRBM(
        n_inputs,
        regressor.n_targets_,
        regressor.n_hidden,
        full=regressor.noise == "full",
        dtype=torch.float64,
    )
    model.load_state_dict(below("model.", tensors))
    regressor.model_ = model
    return regressor


def _base_state(base: list[Any]) -> dict[str, Tensor]:
    """The tensors of ridge regressions, or of a blend of them with trees."""
    ridges, tensors = base, {}
    if isinstance(base[0], Blend):
        ridges = base[0].ridges
        tensors["weights"] = torch.from_numpy(base[0].weights)
        for kind, columns in enumerate(base[0].trees):
            for number, part in enumerate(columns.parts):
                state = part.state().items()
                tensors |= {f"trees.{kind}.{number}.{name}": t for name, t in state}
    tensors["coef"] = torch.from_numpy(np.stack([each.coef_ for each in ridges]))
    intercept = np.array([each.intercept_ for each in ridges])
    return tensors | {"intercept": torch.from_numpy(intercept)}


def _base(tensors: dict[str, Tensor], n_inputs: int, n_targets: int) -> list[Any]:
    """The base regression whose `_base_state` this was."""
    pairs = zip(tensors["coef"].numpy(), tensors["intercept"].tolist(), strict=True)
    ridges = [Ridge(*pair) for pair in pairs]
    if "weights" not in tensors:
        return ridges
    weights = tensors["weights"].numpy()
    trees = []
    for kind in range(len(weights) - 1):
        own = below(f"trees.{kind}.", tensors)
        n_parts = 1 + max(int(name.split(".")[0]) for name in own)
        width = n_targets // n_parts
        parts = [below(f"{number}.", own) for number in range(n_parts)]
        found = [TreeRegression.restored(part, n_inputs, width) for part in parts]
        trees.append(Columns(found))
    return [Blend(ridges, trees, weights)]
