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
from crbm.estimators.base_regression import Ridge
from crbm.models.gaussian import GaussianCRBM
from crbm.preprocessing.packing import below

if TYPE_CHECKING:
    from crbm.estimators.regressor import CRBMRegressor

CLASS = "CRBMRegressor"
ARRAYS = ("center_", "scale_", "input_center_", "input_scale_")
PLAIN = ("n_targets_", "single_target_", "target_names_", "n_features_in_", "history_")


def save(regressor: CRBMRegressor, path: str | Path) -> None:
    """Write a fitted regressor to one file."""
    check_is_fitted(regressor)
    if regressor.base is not None:
        raise ValueError(
            "Only a regressor with the base regression of this library (`base=None`) "
            f"is saved without code; this one has {type(regressor.base).__name__}. Use "
            "joblib.dump for it."
        )
    tensors = {name: torch.from_numpy(getattr(regressor, name)) for name in ARRAYS}
    coef = np.stack([ridge.coef_ for ridge in regressor.base_])
    intercept = np.array([ridge.intercept_ for ridge in regressor.base_])
    tensors |= {"base.coef": torch.from_numpy(coef)}
    tensors |= {"base.intercept": torch.from_numpy(intercept)}
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
    regressor.base_ = _ridges(tensors["base.coef"], tensors["base.intercept"])
    n_inputs = len(regressor.input_center_)
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


def _ridges(coef: Tensor, intercept: Tensor) -> list[Ridge]:
    pairs = zip(coef.numpy(), intercept.tolist(), strict=True)
    return [Ridge(*pair) for pair in pairs]
