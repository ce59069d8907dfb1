"""From arrays, frames and label sets to cases: what is learned of X and y first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight
from torch import Tensor

from crbm import checks
from crbm.estimators._encoding import (
    check_binary,
    dense,
    encode_column,
    to_inputs,
    to_outputs,
)
from crbm.preprocessing import KINDS, Preprocessor, check_gamma
from crbm.types import Batch


@dataclass(eq=False, repr=False, kw_only=True)
class Encoder(BaseEstimator):  # type: ignore[misc]
    """Inputs and labels as the models see them; parameters are told at `Learner`."""

    # scikit-learn wants wrong parameters stored here and refused in `fit`
    __no_type_check__ = True

    preprocessing: str = "none"
    kernel_gamma: float = 1.0
    kernel_features: int = 1000

    def _check_parameters(self) -> None:
        checks.one_of("preprocessing", self.preprocessing, KINDS)
        check_gamma(self.kernel_gamma)
        checks.whole_number("kernel_features", self.kernel_features, at_least=1)

    def _fit_data(
        self, X: Any, Y: Any, sample_weight: Any, classes: Any = None
    ) -> Batch:
        X = to_inputs(self, X, reset=True)
        if classes is not None and np.ndim(Y) == 1:
            self.classes_, self.single_column_ = np.unique(classes), True
            v = encode_column(Y, self.classes_)
            names = [str(self.classes_[-1])]
        else:
            v, self.classes_, names, self.single_column_ = to_outputs(Y)
        self.label_names_, self.n_labels_ = names, v.shape[1]
        return self._weighted(self._cases(X, v), sample_weight)

    def _prepared(self, X: Any, *, learn: bool) -> Any:
        """Inputs as the models see them; a warm start keeps the old preprocessing."""
        if self.preprocessing == "none":
            return X
        if learn and not hasattr(self, "models_"):
            new = Preprocessor(
                self.preprocessing, self.kernel_gamma, self.kernel_features
            )
            self.preprocessor_ = new.fit(X)
        return self.preprocessor_.transform(X)

    @property
    def _n_inputs(self) -> int:
        """The number of inputs of the models."""
        example = np.zeros((1, self.n_features_in_))
        return int(self._prepared(example, learn=False).shape[1])

    def _cases(self, X: Any, v: Tensor) -> Batch:
        u = dense(X, self._dtype)
        return Batch(u, v.to(u))

    @property
    def _dtype(self) -> torch.dtype | None:
        """The precision of the models; that of the inputs as long as there are none."""
        if hasattr(self, "models_"):
            return next(self.models_[0].parameters()).dtype
        return None

    def _weighted(self, data: Batch, sample_weight: Any) -> Batch:
        assert data.u is not None
        checks.same_length(X=data.u, Y=data.v)
        if sample_weight is None:
            return data
        weight = _check_sample_weight(
            sample_weight, data.u, dtype=np.float64, ensure_non_negative=True
        )
        data = data._replace(weight=torch.from_numpy(weight).to(data.u))
        return data.select(torch.from_numpy(np.flatnonzero(weight > 0)))

    def _encoded(self, Y: Any) -> Float[Tensor, "cases labels"]:
        if self.single_column_ and np.ndim(Y) == 1:
            return encode_column(Y, self.classes_)
        v = check_binary(Y.to_numpy() if hasattr(Y, "to_numpy") else Y)
        if v.shape[-1] != self.n_labels_:
            raise ValueError(
                f"`Y` must have {self.n_labels_} columns, one per label; got shape "
                f"{tuple(v.shape)}."
            )
        return v
