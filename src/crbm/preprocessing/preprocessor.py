"""The preprocessing inside a classifier: what it learned can be saved as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from torch import Tensor

from crbm.preprocessing.pipelines import KernelFeatures, RankTransformer, pipeline

# All that a step needs of its training to transform, and nothing that could run.
LEARNED = {
    StandardScaler: ("mean_", "scale_"),
    RobustScaler: ("center_", "scale_"),
    RankTransformer: ("quantiles_", "references_"),
    KernelFeatures: ("components_", "normalization_"),
}
# Of these, what has one number per column in its last dimension.
PER_COLUMN = {
    StandardScaler: ("mean_", "scale_"),
    RobustScaler: ("center_", "scale_"),
    RankTransformer: ("quantiles_",),
    KernelFeatures: ("components_",),
}
NOTHING = np.empty(0)  # what a step that does not centre, say, has learned


class Preprocessor:
    """Inputs prepared as they were in training, in the precision they came in.

    Parameters
    ----------
    kind, kernel_gamma, kernel_features
        One of `KINDS`, how narrow a kernel is, and the most features to make of it;
        see `pipeline`.

    Examples
    --------
    >>> scaled = Preprocessor("standardise").fit(np.array([[1.0], [3.0]]))
    >>> scaled.transform(np.array([[5.0]]))
    array([[3.]])
    >>> same = Preprocessor.restored("standardise", scaled.state())
    >>> same.transform(np.array([[5.0]]))
    array([[3.]])
    """

    def __init__(
        self, kind: str, kernel_gamma: float = 1.0, kernel_features: int = 1000
    ) -> None:
        self.kind, self.kernel_gamma = kind, kernel_gamma
        self.kernel_features = kernel_features

    def fit(self, X: Any) -> Preprocessor:
        """Learn from the training rows; sparse ones are kept sparse."""
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
        """The rows as the model sees them."""
        if issparse(X) and not self.sparse:
            X = X.toarray()  # centred columns have no zeros to leave out
        return self.steps.transform(X).astype(X.dtype, copy=False)

    def n_outputs(self, n_features: int) -> int:
        """The number of columns that `n_features` columns become.

        What was learned must be for so many columns; a file may claim anything.
        """
        for _, step in self.steps.steps:
            for name in PER_COLUMN.get(type(step), ()):
                value = getattr(step, name)
                n_learned = n_features if value is None else np.shape(value)[-1]
                if n_learned != n_features:
                    raise ValueError(
                        f"`{name}` is for {n_learned} columns, not {n_features}"
                    )
            if isinstance(step, KernelFeatures):
                n_features = step.normalization_.shape[0]
        return n_features

    def state(self) -> dict[str, Tensor]:
        """What was learned, by step and attribute."""
        tensors = {"sparse": torch.tensor(self.sparse)}
        for place, (_, step) in enumerate(self.steps.steps):
            for name in LEARNED.get(type(step), ()):
                value = getattr(step, name)
                array = NOTHING if value is None else np.asarray(value)
                tensors[f"{place}.{name}"] = torch.from_numpy(array)
        return tensors

    @classmethod
    def restored(
        cls, kind: str, tensors: Mapping[str, Tensor], kernel_gamma: float = 1.0
    ) -> Preprocessor:
        """The preprocessor whose `state` this was."""
        found = cls(kind, kernel_gamma)
        found.sparse = bool(tensors["sparse"])
        found.steps = found._pipeline()
        for place, (_, step) in enumerate(found.steps.steps):
            for name in LEARNED.get(type(step), ()):
                array = tensors[f"{place}.{name}"].numpy()
                setattr(step, name, array if array.size else None)
        return found
