"""The preprocessing of an estimator, which is saved and loaded as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from torch import Tensor

from crbm.preprocessing.pipelines import (
    DistanceScaler,
    KernelFeatures,
    RankTransformer,
    pipeline,
)

# The fitted attributes that each step needs to transform; arrays only, no code.
FITTED = {
    StandardScaler: ("mean_", "scale_"),
    RobustScaler: ("center_", "scale_"),
    RankTransformer: ("quantiles_", "references_"),
    KernelFeatures: ("components_", "normalization_"),
    DistanceScaler: ("scale_",),
}
# Those whose last dimension has one entry per input column.
PER_COLUMN = {
    StandardScaler: ("mean_", "scale_"),
    RobustScaler: ("center_", "scale_"),
    RankTransformer: ("quantiles_",),
    KernelFeatures: ("components_",),
}
UNSET = np.empty(0)  # stored for an attribute that is None
# What such a step may lack, by the option that turns it off.
OPTIONAL = {
    StandardScaler: {"mean_": "with_mean", "scale_": "with_std"},
    RobustScaler: {"center_": "with_centering", "scale_": "with_scaling"},
}
N_AXES = {"quantiles_": 2, "components_": 2, "normalization_": 2}  # of others 1


class Preprocessor:
    """A fitted pipeline that preserves the precision of the inputs.

    Parameters
    ----------
    kind, kernel_gamma, kernel_features
        As for `pipeline`.

    Examples
    --------
    >>> scaler = Preprocessor("standardise").fit(np.array([[1.0], [3.0]]))
    >>> scaler.transform(np.array([[5.0]]))
    array([[3.]])
    >>> same = Preprocessor.from_state("standardise", scaler.state())
    >>> same.transform(np.array([[5.0]]))
    array([[3.]])
    """

    def __init__(
        self, kind: str, kernel_gamma: float = 1.0, kernel_features: int = 1000
    ) -> None:
        self.kind, self.kernel_gamma = kind, kernel_gamma
        self.kernel_features = kernel_features

    def fit(self, X: Any) -> Preprocessor:
        """Fit the pipeline to the training cases; sparse inputs stay sparse."""
        self.sparse = issparse(X)
        self.steps = self._pipeline().fit(X)
        return self

    def _pipeline(self) -> Pipeline:
        return pipeline(
            self.kind,
            sparse=self.sparse,
            kernel_gamma=self.kernel_gamma,
            kernel_features=self.kernel_features,
        )

    def transform(self, X: Any) -> Any:
        """The inputs that the model receives."""
        if issparse(X) and not self.sparse:
            X = X.toarray()  # centring makes every entry non-zero
        return self.steps.transform(X).astype(X.dtype, copy=False)

    def n_outputs(self, n_features: int) -> int:
        """The number of columns after the transformation of `n_features` columns.

        Raises an error if a step was fitted to another number of columns, which a
        damaged file could cause.
        """
        for _, step in self.steps.steps:
            for name in PER_COLUMN.get(type(step), ()):
                value = getattr(step, name)
                n_fitted = n_features if value is None else np.shape(value)[-1]
                if n_fitted != n_features:
                    raise ValueError(
                        f"`{name}` is for {n_fitted} columns, not {n_features}"
                    )
            if isinstance(step, KernelFeatures):
                n_features = step.normalization_.shape[0]
        return n_features

    def state(self) -> dict[str, Tensor]:
        """The fitted attributes as tensors named ``"<step>.<attribute>"``."""
        tensors = {"sparse": torch.tensor(self.sparse)}
        for number, (_, step) in enumerate(self.steps.steps):
            for name in FITTED.get(type(step), ()):
                value = getattr(step, name)
                array = UNSET if value is None else np.asarray(value)
                tensors[f"{number}.{name}"] = torch.from_numpy(array)
        return tensors

    @classmethod
    def from_state(
        cls, kind: str, tensors: Mapping[str, Tensor], kernel_gamma: float = 1.0
    ) -> Preprocessor:
        """The fitted preprocessor that returned `tensors` from `state`."""
        preprocessor = cls(kind, kernel_gamma)
        preprocessor.sparse = bool(tensors["sparse"])
        preprocessor.steps = preprocessor._pipeline()
        for number, (_, step) in enumerate(preprocessor.steps.steps):
            for name in FITTED.get(type(step), ()):
                array = tensors[f"{number}.{name}"].numpy()
                _check_fitted(step, name, array)
                setattr(step, name, array if array.size else None)
            _check_together(step)
        return preprocessor


def _check_fitted(step: Any, name: str, array: np.ndarray) -> None:
    """Refuse what a step cannot have learned; a file may claim anything."""
    option = OPTIONAL.get(type(step), {}).get(name)
    if not array.size and option is not None and not getattr(step, option):
        return
    n_axes = N_AXES.get(name, 1)
    if array.dtype.kind != "f" or array.ndim != n_axes or not array.size:
        raise ValueError(
            f"`{name}` must hold floating-point numbers along {n_axes} axes; it has "
            f"{array.dtype} of shape {array.shape}"
        )


def _check_together(step: Any) -> None:
    """Refuse quantiles without their levels, and features without their scaling."""
    if isinstance(step, RankTransformer):
        fits = len(step.quantiles_) == len(step.references_)
    elif isinstance(step, KernelFeatures):
        n_features = len(step.components_)
        fits = step.normalization_.shape == (n_features, n_features)
    elif isinstance(step, DistanceScaler):
        fits = step.scale_.shape == (1,)
    else:
        return
    if not fits:
        raise ValueError(f"the arrays of {type(step).__name__} do not fit together")
