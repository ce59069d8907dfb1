"""Named scikit-learn pipelines that scale inputs.

Fit a pipeline on the training part, then transform all parts with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

KINDS = (
    "none",
    "standardise",
    "centre",
    "unit-norm",
    "robust",
    "log",
    "rank",
    "kernel",
    "rbf",
    "rbf-centre",
    "rbf-rank",
)
# Standard deviations at which "rbf" cuts off its inputs.
CUT_OFF = 8.0


def pipeline(
    kind: str,
    *,
    sparse: bool = False,
    kernel_gamma: float = 1.0,
    kernel_features: int = 1000,
) -> Pipeline:
    """An unfitted pipeline that scales inputs.

    Parameters
    ----------
    kind
        - ``"none"``: leave the inputs as they are;
        - ``"standardise"``: mean 0, variance 1;
        - ``"centre"``: mean 0, and one scale for all features, for features of one
          kind, such as the words of a text, where rare ones should stay small;
        - ``"unit-norm"``: every case has Euclidean norm 1;
        - ``"robust"``: median 0, interquartile range 1;
        - ``"log"``: signed log(1 + abs(x)), then standardised, for features that
          differ by powers of ten;
        - ``"rank"``: normal scores of the ranks, for features of any distribution;
        - ``"kernel"``: standardised, then Nystroem features of an RBF kernel, for
          outputs that do not depend linearly on the inputs;
        - ``"rbf"``: the same, with inputs cut off at 8 standard deviations and a kernel
          as wide as the median distance of cases: the safest choice for unknown data;
        - ``"rbf-centre"``, ``"rbf-rank"``: such a kernel of inputs scaled by "centre"
          and by "rank".

        A constant column becomes 0.
    sparse
        Map 0 to 0, so that a sparse matrix stays sparse.
    kernel_gamma
        The kernel is exp(-kernel_gamma * |x - y|^2 / n_inputs), or, for "rbf*",
        exp(-kernel_gamma * |x - y|^2 / median): larger is narrower.
    kernel_features
        Maximal number of kernel features; never more than training cases.

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
        "centre": (
            StandardScaler(with_mean=not sparse, with_std=False),
            DistanceScaler(),
        ),
        "unit-norm": (Normalizer(),),
        "robust": (RobustScaler(with_centering=not sparse),),
        "log": (_signed_log(), scaler),
        "rank": (RankTransformer(ignore_implicit_zeros=sparse), scaler),
        "kernel": (
            scaler,
            *_kernel_width(kernel_gamma),
            KernelFeatures(kernel_features),
            *_rescale_features(),
        ),
    }
    rbf = (
        DistanceScaler(),
        *_kernel_width(kernel_gamma),
        KernelFeatures(kernel_features),
        *_rescale_features(),
    )
    steps["rbf"] = (scaler, FunctionTransformer(cut_off, accept_sparse=True), *rbf)
    steps["rbf-centre"] = (steps["centre"][0], *rbf)
    steps["rbf-rank"] = (*steps["rank"], *rbf)
    if kind not in steps:
        known = ", ".join(f"`{name}`" for name in KINDS)
        raise ValueError(f"There is no preprocessing `{kind}`; use one of {known}.")
    return make_pipeline(*steps[kind])


class RankTransformer(QuantileTransformer):  # type: ignore[misc]
    """Normal scores of the ranks, with at most as many quantiles as cases.

    scikit-learn warns about more quantiles than cases, and a pipeline does not know
    the number of cases before it is fitted.
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
        """Estimate the quantiles of the training cases."""
        n_quantiles: int = self.get_params()["n_quantiles"]
        self.n_quantiles = min(n_quantiles, max(1, np.shape(X)[0]))
        try:
            super().fit(X, y)
        finally:
            self.n_quantiles = n_quantiles
        return self


class DistanceScaler(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Scales all columns alike, to a median squared distance of one per column.

    Examples
    --------
    >>> DistanceScaler().fit_transform(np.array([[0.0], [10.0]])).tolist()
    [[0.0], [1.0]]
    """

    def fit(self, X: Any, y: Any = None) -> DistanceScaler:
        """Measure the distances between at most 1000 cases, evenly spaced."""
        rows = X[:: -(-X.shape[0] // 1000)]
        squared = euclidean_distances(rows, squared=True)
        apart = squared[squared > 0]
        median = float(np.median(apart)) if len(apart) else 1.0
        self.scale_ = np.array([np.sqrt(X.shape[1] / median)])
        return self

    def transform(self, X: Any) -> Any:
        """The scaled inputs; sparse ones stay sparse."""
        return X * self.scale_[0]


class KernelFeatures(Nystroem):  # type: ignore[misc]
    """Nystroem features of an RBF kernel, at most as many as training cases."""

    def __init__(self, n_components: int = 1000, *, random_state: int = 0) -> None:
        super().__init__(n_components=n_components, random_state=random_state)

    def fit(self, X: Any, y: Any = None) -> KernelFeatures:
        """Choose the training cases that span the feature space."""
        n_components: int = self.get_params()["n_components"]
        self.n_components = min(n_components, np.shape(X)[0])
        try:
            basis = super().fit(X, y).components_
        finally:
            self.n_components = n_components
        self.components_ = basis.toarray() if issparse(basis) else basis
        return self


def check_gamma(gamma: Any) -> None:
    """Check that `kernel_gamma` is a positive number."""
    number = isinstance(gamma, int | float | np.number) and not isinstance(gamma, bool)
    if not number or not 0 < gamma < np.inf:
        raise ValueError(f"`kernel_gamma` must be a positive number; got {gamma!r}.")


def _kernel_width(gamma: float) -> tuple[Any, ...]:
    """Steps that scale the inputs by sqrt(gamma), which narrows the kernel."""
    check_gamma(gamma)
    if gamma == 1:
        return ()
    return (FunctionTransformer(times, kw_args={"factor": gamma**0.5}),)


def cut_off(X: Any) -> Any:
    """Inputs within `CUT_OFF` standard deviations."""
    return _map_nonzero(X, lambda x: x.clip(-CUT_OFF, CUT_OFF))


def times(X: Any, factor: float) -> Any:
    """`factor` times X; a sparse X stays sparse."""
    return factor * X


def _rescale_features() -> tuple[Any, ...]:
    """Steps that centre the features and multiply them by 10.

    Kernel features have norms below 1; SGD learns faster at norms near 10.
    """
    scale = FunctionTransformer(times, kw_args={"factor": 10.0})
    return StandardScaler(with_std=False), scale


def _signed_log() -> FunctionTransformer:
    return FunctionTransformer(
        signed_log, inverse_func=signed_exp, accept_sparse=True, check_inverse=False
    )


def signed_log(X: Any) -> Any:
    """sign(x) log(1 + abs(x)); a sparse X stays sparse, since 0 maps to 0.

    Examples
    --------
    >>> signed_log(np.array([0.0, -1.0, 1e13])).round(3).tolist()
    [0.0, -0.693, 29.934]
    """
    return _map_nonzero(X, lambda x: np.copysign(np.log1p(np.abs(x)), x))


def signed_exp(X: Any) -> Any:
    """The inverse of `signed_log`."""
    return _map_nonzero(X, lambda x: np.copysign(np.expm1(np.abs(x)), x))


def _map_nonzero(X: Any, function: Any) -> Any:
    if not hasattr(X, "tocsr"):
        return function(np.asarray(X))
    result = X.tocsr(copy=True)
    result.data = function(result.data)
    return result
