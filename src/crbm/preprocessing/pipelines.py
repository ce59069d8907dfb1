"""Scaling of the inputs, learned on the training part only.

Each pipeline is an ordinary scikit-learn one: fit it on the training rows, then
transform all parts with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

KINDS = ("none", "standardise", "unit-norm", "robust", "log", "rank", "kernel")


def pipeline(
    kind: str,
    *,
    sparse: bool = False,
    kernel_gamma: float = 1.0,
    kernel_features: int = 1000,
) -> Pipeline:
    """The scaling named `kind`, not yet fitted.

    Parameters
    ----------
    kind
        ``"none"``; ``"standardise"``: mean 0, variance 1; ``"unit-norm"``: every
        row of length 1; ``"robust"``: median 0, quartile range 1; ``"log"``: signed
        log(1 + abs(x)), standardised, for scales that differ by powers of ten;
        ``"rank"``: normal scores of the ranks, for any monotone distortion;
        ``"kernel"``: standardised, then features of an RBF kernel, for outputs that
        do not depend linearly on the inputs. A constant column becomes 0.
    sparse
        Keep zeros zero, so that a sparse matrix stays sparse.
    kernel_gamma
        How narrow the kernel is, in units of one over the number of inputs.
    kernel_features
        How many at most; there are never more than training rows.

    Examples
    --------
    >>> X = np.array([[1e13, 1.0], [-1e13, 1.0], [0.0, 1.0]])
    >>> pipeline("log").fit(X).transform(X).round(2)
    array([[ 1.22,  0.  ],
           [-1.22,  0.  ],
           [ 0.  ,  0.  ]])
    """
    scaler = StandardScaler(with_mean=not sparse)
    steps: dict[str, tuple[Any, ...]] = {
        "none": (FunctionTransformer(accept_sparse=True),),
        "standardise": (scaler,),
        "unit-norm": (Normalizer(),),
        "robust": (RobustScaler(with_centering=not sparse),),
        "log": (_signed_log(), scaler),
        "rank": (RankTransformer(ignore_implicit_zeros=sparse), scaler),
        "kernel": (
            scaler,
            *_stretched(kernel_gamma),
            KernelFeatures(kernel_features),
            *_suited_to_descent(),
        ),
    }
    if kind not in steps:
        known = ", ".join(f"`{name}`" for name in KINDS)
        raise ValueError(f"There is no scaling `{kind}`; use one of {known}.")
    return make_pipeline(*steps[kind])


class RankTransformer(QuantileTransformer):  # type: ignore[misc]
    """Normal scores of the ranks, with no more quantiles than there are rows.

    scikit-learn warns when asked for more, and a pipeline cannot know the number
    of rows beforehand.
    """

    def __init__(
        self,
        n_quantiles: int = 1000,
        *,
        output_distribution: str = "normal",
        ignore_implicit_zeros: bool = False,
        subsample: int | None = 10_000,
        random_state: int = 0,
        copy: bool = True,
    ) -> None:
        super().__init__(
            n_quantiles=n_quantiles,
            output_distribution=output_distribution,
            ignore_implicit_zeros=ignore_implicit_zeros,
            subsample=subsample,
            random_state=random_state,
            copy=copy,
        )

    def fit(self, X: Any, y: Any = None) -> RankTransformer:
        """Learn the quantiles of the training rows."""
        asked: int = self.get_params()["n_quantiles"]
        self.n_quantiles = min(asked, max(1, np.shape(X)[0]))
        try:
            super().fit(X, y)
        finally:
            self.n_quantiles = asked
        return self


class KernelFeatures(Nystroem):  # type: ignore[misc]
    """Features of an RBF kernel by Nystroem's method, no more than there are rows."""

    def __init__(self, n_components: int = 1000, *, random_state: int = 0) -> None:
        super().__init__(n_components=n_components, random_state=random_state)

    def fit(self, X: Any, y: Any = None) -> KernelFeatures:
        """Choose training rows to compare with."""
        asked: int = self.get_params()["n_components"]
        self.n_components = min(asked, np.shape(X)[0])
        try:
            rows = super().fit(X, y).components_
        finally:
            self.n_components = asked
        self.components_ = rows.toarray() if issparse(rows) else rows
        return self


def check_gamma(gamma: Any) -> None:
    """Refuse what is no width of a kernel; a file may claim anything."""
    number = isinstance(gamma, int | float | np.number) and not isinstance(gamma, bool)
    if not number or not 0 < gamma < np.inf:
        raise ValueError(f"`kernel_gamma` must be a positive number; got {gamma!r}.")


def _stretched(gamma: float) -> tuple[Any, ...]:
    """Inputs further apart: the same as a narrower kernel."""
    check_gamma(gamma)
    if gamma == 1:
        return ()
    return (FunctionTransformer(times, kw_args={"factor": gamma**0.5}),)


def times(X: Any, factor: float) -> Any:
    """A multiple of X; sparse stays sparse."""
    return factor * X


def _suited_to_descent() -> tuple[Any, ...]:
    """Kernel features are centred and made ten times longer: norms near 10 suit SGD."""
    longer = FunctionTransformer(times, kw_args={"factor": 10.0})
    return StandardScaler(with_std=False), longer


def _signed_log() -> FunctionTransformer:
    return FunctionTransformer(
        signed_log, inverse_func=signed_exp, accept_sparse=True, check_inverse=False
    )


def signed_log(X: Any) -> Any:
    """sign(x) log(1 + abs(x)); 0 stays 0, so sparse stays sparse.

    Examples
    --------
    >>> signed_log(np.array([0.0, -1.0, 1e13])).round(3).tolist()
    [0.0, -0.693, 29.934]
    """
    return _of_stored(X, lambda x: np.copysign(np.log1p(np.abs(x)), x))


def signed_exp(X: Any) -> Any:
    """The inverse of `signed_log`."""
    return _of_stored(X, lambda x: np.copysign(np.expm1(np.abs(x)), x))


def _of_stored(X: Any, function: Any) -> Any:
    if not hasattr(X, "tocsr"):
        return function(np.asarray(X))
    result = X.tocsr(copy=True)
    result.data = function(result.data)
    return result
