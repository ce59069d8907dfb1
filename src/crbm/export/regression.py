"""The expected targets of a `CRBMRegressor` as ONNX nodes."""

from __future__ import annotations

from typing import Any

import torch
from scipy import sparse

from crbm.estimators import CRBMRegressor
from crbm.estimators.base_blend import Blend, Columns, Ridge
from crbm.estimators.base_trees import LARGEST, TreeRegression
from crbm.export.energies import array
from crbm.export.graph import Value, concatenate
from crbm.export.trees import leaf_sums


def expected(regressor: CRBMRegressor, x: Value) -> Value:
    """E[y] of each target."""
    predicted = concatenate([_base(part, x) for part in regressor.base_], 1)
    raw = concatenate([x, predicted], 1)
    u = (raw - regressor.input_center_) / regressor.input_scale_
    model = regressor.model_
    states = model.states()
    with torch.no_grad():
        couplings = torch.linalg.solve_triangular(
            model.root(), model.weight_vh, upper=False
        )
        constant = (states @ couplings.T).square().sum(1) / 2
        shifts = states @ model.weight_vh.T + model.bias_v
    field = u @ array(model.weight_uh) + array(model.bias_h)
    weight = (field @ array(states).T + array(constant)).softmax()
    mean = weight @ array(shifts) + predicted
    return mean * regressor.scale_ + regressor.center_


def _base(part: Any, x: Value) -> Value:
    """What a part of the base regression predicts, one column per target."""
    if isinstance(part, Ridge):
        return x @ part.coef_[:, None] + part.intercept_
    if isinstance(part, Columns):
        return concatenate([_trees(each, x) for each in part.parts], 1)
    if isinstance(part, Blend):
        total = part.weights[0] * concatenate([_base(r, x) for r in part.ridges], 1)
        for weight, columns in zip(part.weights[1:], part.trees, strict=True):
            total = total + weight * _base(columns, x)
        return total
    raise ValueError(
        "A regressor with a `base` of its own cannot be exported, because the base is "
        'a model of another library. Fit one with `base="auto"` or "ridge".'
    )


def _trees(part: TreeRegression, x: Value) -> Value:
    values = sparse.csr_array(part.values / len(part.trees.roots))
    return leaf_sums(part.trees, values, x.clip(-LARGEST, LARGEST)).to(x.dtype)
