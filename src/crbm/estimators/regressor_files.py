"""Fitted regressors as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from crbm import checks, persistence
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

    # files of earlier versions know one spread only
    parameters = {"n_spreads": 1} | described["parameters"]
    if not isinstance(parameters["base"], str | None):
        raise ValueError("`base` is not a name")
    regressor = CRBMRegressor(**parameters)
    regressor._check_parameters()
    fitted = described["fitted"]
    _check_fitted(fitted)
    file_checks.check_tensors({k: t for k, t in tensors.items() if k != "input_scale_"})
    for name in PLAIN:
        setattr(regressor, name, fitted[name])
    if "feature_names_in_" in fitted:
        names = np.asarray(fitted["feature_names_in_"], dtype=object)
        regressor.feature_names_in_ = names
    inputs.restore(regressor, fitted, tensors)
    n_features, n_targets = inputs.n_inputs(regressor), regressor.n_targets_
    _check_arrays(tensors, n_features + n_targets, n_targets)
    for name in ARRAYS:
        setattr(regressor, name, tensors[name].numpy())
    regressor.base_ = _base(below("base.", tensors), n_features, n_targets)
    with torch.device("meta"):  # sizes that the tensors lack take no memory
        model = GaussianCRBM(
            n_features + n_targets,
            n_targets,
            regressor.n_hidden,
            full=regressor.noise == "full",
            n_spreads=regressor.n_spreads,
        )
    model.load_state_dict(below("model.", tensors), assign=True)
    _check_doubles({f"model.{k}": t for k, t in model.state_dict().items()})
    root = model.root().detach()
    torch.linalg.cholesky(root @ root.T)  # raises unless it is a covariance
    regressor.model_ = model.requires_grad_()
    return regressor


def _check_fitted(fitted: dict[str, Any]) -> None:
    """Refuse sizes, names and records of the wrong kind."""
    for name in ("n_targets_", "n_features_in_"):
        checks.whole_number(name, fitted[name], at_least=1)
    n_targets, single = fitted["n_targets_"], fitted["single_target_"]
    if not isinstance(single, bool) or (single and n_targets > 1):
        raise ValueError("`single_target_` does not agree with `n_targets_`")
    file_checks.check_names("target_names_", fitted["target_names_"], n_targets)
    if "feature_names_in_" in fitted:
        names, count = fitted["feature_names_in_"], fitted["n_features_in_"]
        file_checks.check_names("feature_names_in_", names, count)
    history = fitted["history_"]
    is_list = isinstance(history, list)
    if not is_list or not all(isinstance(value, float | int) for value in history):
        raise ValueError("`history_` is not a list of numbers")


def _check_arrays(tensors: dict[str, Tensor], n_inputs: int, n_targets: int) -> None:
    """Refuse scales of the wrong size, and such as nothing can be divided by."""
    _check_doubles({name: tensors[name] for name in ARRAYS})
    for name in ARRAYS:
        size = n_inputs if name.startswith("input_") else n_targets
        if tensors[name].shape != (size,):
            raise ValueError(f"`{name}` is not one number for each of {size}")
        if name.endswith("scale_") and not (tensors[name] > 0).all():
            raise ValueError(f"`{name}` is not positive")


def _check_doubles(tensors: dict[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float64:
            raise ValueError(f"`{name}` is {tensor.dtype}, not torch.float64")


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
    coef, intercept = tensors["coef"], tensors["intercept"]
    if coef.shape != (n_targets, n_inputs) or intercept.shape != (n_targets,):
        raise ValueError("the base regression does not fit the inputs and targets")
    _check_doubles({"base.coef": coef, "base.intercept": intercept})
    pairs = zip(coef.numpy(), intercept.tolist(), strict=True)
    ridges = [Ridge(*pair) for pair in pairs]
    if "weights" not in tensors:
        return ridges
    weights = tensors["weights"].numpy()
    if weights.dtype != np.float64 or weights.ndim != 1:
        raise ValueError("`base.weights` is not one number for each part of the base")
    trees = []
    for kind in range(len(weights) - 1):
        own = below(f"trees.{kind}.", tensors)
        n_parts = len({name.split(".")[0] for name in own})
        if not n_parts or n_targets % n_parts:
            raise ValueError("the trees do not fit the targets")
        width = n_targets // n_parts
        parts = [below(f"{number}.", own) for number in range(n_parts)]
        found = [TreeRegression.restored(part, n_inputs, width) for part in parts]
        trees.append(Columns(found))
    return [Blend(ridges, trees, weights)]
