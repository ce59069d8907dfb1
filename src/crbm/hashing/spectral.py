"""Spectral hashing: short binary codes that are close for similar inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float64, Int, UInt8
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.decomposition import PCA
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from crbm.hashing.arrays import Matrix, from_torch
from crbm.hashing.codes import check_n_bits

# Up to this many inputs the full covariance matrix is faster than ARPACK.
COVARIANCE_LIMIT = 300
# Decimals to which phases are rounded, so that rounding errors do not decide the bits
# of inputs on a threshold.
DECIMALS = 9


class SpectralHash(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Codes of `n_bits` bits whose Hamming distances follow those of the inputs.

    The inputs are modelled as uniform in a box along their principal directions. The
    graph Laplacian of such a box has known eigenfunctions, the cosines below; the
    bits are the signs of those that vary most slowly. Fitting is a PCA and
    deterministic.

    Parameters
    ----------
    n_bits
        Length of a code, at most 62. It may exceed the number of inputs: long
        directions then have several bits.

    Attributes
    ----------
    components_
        Principal directions of the inputs, (n_directions, n_features_in_); in each
        the entry of the largest magnitude is positive.
    lower_
        Smallest projection of the training inputs on each direction: a corner of the
        box.
    extent_
        Length of the box along each direction.
    directions_
        Direction of each bit; empty if the inputs are constant, and then all codes
        are 0.
    wave_numbers_
        Number of half waves of each bit's cosine along the box.
    n_features_in_
        Number of inputs.

    Notes
    -----
    Bit (j, k) is 1 where cos(k pi (x_j - a_j) / R_j) > 0, for a projection x_j in a
    box from a_j of length R_j. Its eigenvalue grows with (k / R_j)^2, so the `n_bits`
    smallest k / R_j with k >= 1 are used. This is the algorithm of [2]_ that [1]_,
    Section 6.1 builds on. Sparse inputs are never made dense.

    References
    ----------
    .. [1] Mnih, Larochelle, Hinton. Conditional Restricted Boltzmann Machines for
       Structured Output Prediction. UAI 2011.
    .. [2] Weiss, Torralba, Fergus. Spectral Hashing. NIPS 2008.

    Examples
    --------
    >>> line = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> SpectralHash(n_bits=2).fit(line).encode(line).tolist()
    [[1, 1], [1, 1], [1, 0], [0, 0], [0, 1], [0, 1]]
    """

    n_bits: int

    @no_type_check  # scikit-learn: `__init__` stores any value, `fit` checks it
    def __init__(self, n_bits: int = 7) -> None:
        self.n_bits = n_bits

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SpectralHash:
        """Fit the box and its slowest cosines; `y` is ignored.

        `sample_weight` weights the cases in the PCA.
        """
        check_n_bits(self.n_bits)
        X = self._validate(X)
        if sample_weight is None:
            self.components_ = _principal_directions(X, self.n_bits)
        else:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            X, weight = X[weight > 0], weight[weight > 0]
            self.components_ = _weighted_directions(X, weight, self.n_bits)
        # eigsh returns a reversed view, which cannot be saved
        self.components_ = np.ascontiguousarray(self.components_)
        projections = X @ self.components_.T
        self.lower_ = projections.min(0)
        self.extent_ = projections.max(0) - self.lower_
        self.directions_, self.wave_numbers_ = _slowest(self.extent_, self.n_bits)
        self._n_features_out = self.n_bits
        return self

    def encode(self, X: Any) -> UInt8[np.ndarray, "cases bits"]:
        """The code of each input, one 0 or 1 per bit."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        if len(self.directions_) == 0:
            return np.zeros((X.shape[0], self._n_features_out), dtype=np.uint8)
        inside = (X @ self.components_.T - self.lower_)[:, self.directions_]
        scale = self.wave_numbers_ / self.extent_[self.directions_]
        return _positive_cosine(inside * scale)

    def transform(self, X: Any) -> UInt8[np.ndarray, "cases bits"]:
        """The same as `encode`, for pipelines."""
        return self.encode(X)

    def _restore(self, arrays: Mapping[str, np.ndarray]) -> SpectralHash:
        """Load fitted arrays; raises if they are inconsistent."""
        self.components_ = arrays["components"]
        self.lower_, self.extent_ = arrays["lower"], arrays["extent"]
        self.directions_ = arrays["directions"]
        self.wave_numbers_ = arrays["wave_numbers"]
        self.n_features_in_ = self.components_.shape[1]
        self._n_features_out = self.n_bits
        if not self._fits_together():
            raise ValueError("the arrays of the spectral hash do not fit together")
        return self

    def _fits_together(self) -> bool:
        """Whether the types and shapes are those that `fit` gives."""
        box = (self.components_, self.lower_, self.extent_)
        bits = (self.directions_, self.wave_numbers_)
        n_directions, n_used = len(self.components_), len(self.directions_)
        return (
            all(array.dtype == np.float64 for array in box)
            and all(array.dtype == np.int64 for array in bits)
            and self.components_.ndim == 2
            and self.lower_.shape == self.extent_.shape == (n_directions,)
            and self.directions_.shape == self.wave_numbers_.shape
            and n_used in (0, self.n_bits)
            and bool(
                ((self.directions_ >= 0) & (self.directions_ < n_directions)).all()
            )
            and bool((self.extent_[self.directions_] > 0).all())
        )

    def _validate(self, X: Any, *, reset: bool = True) -> Matrix:
        X, kinds = from_torch(X), {"accept_sparse": "csr", "dtype": np.float64}
        return validate_data(self, X, reset=reset, **kinds)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _principal_directions(
    X: Matrix, n_bits: int
) -> Float64[np.ndarray, "directions features"]:
    n_cases, n_features = X.shape
    if not _varies(X):
        return np.zeros((0, n_features))
    n_directions = min(n_bits, n_features, n_cases - 1)
    solver = "covariance_eigh" if n_features <= COVARIANCE_LIMIT else "arpack"
    if not sparse.issparse(X):
        # Centre first: a large mean would cost the covariance precision.
        X = X - X.mean(0)
    # The random state fixes the start of the iteration.
    pca = PCA(n_directions, svd_solver=solver, random_state=0)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            return pca.fit(X).components_
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "The principal directions of the inputs overflow; scale the inputs, e.g. "
            "with `preprocessing='standardise'`."
        ) from error


def _weighted_directions(
    X: Matrix, weight: Float64[np.ndarray, " cases"], n_bits: int
) -> Float64[np.ndarray, "directions features"]:
    """Principal directions of weighted cases, which PCA does not support."""
    n_cases, n_features = X.shape
    if not _varies(X):
        return np.zeros((0, n_features))
    mean = (weight @ X) / weight.sum()

    def covariance_times(x: np.ndarray) -> np.ndarray:
        centred = weight[:, None] * (X @ x - mean @ x)
        return X.T @ centred - np.outer(mean, centred.sum(0))

    n_directions = min(n_bits, n_features, n_cases - 1)
    if n_features <= COVARIANCE_LIMIT:
        vectors = np.linalg.eigh(covariance_times(np.eye(n_features)))[1]
    else:
        shape = (n_features, n_features)
        matvec = functools.partial(_as_column, covariance_times)
        operator = LinearOperator(shape, matvec, matmat=covariance_times, dtype=float)
        vectors = eigsh(operator, n_directions, v0=np.ones(n_features))[1]
    components = vectors[:, ::-1][:, :n_directions].T
    largest = np.abs(components).argmax(1)
    sign = np.sign(np.take_along_axis(components, largest[:, None], axis=1))
    return components * sign


def _as_column(times: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    return times(x.reshape(-1, 1))[:, 0]


def _varies(X: Matrix) -> bool:
    if sparse.issparse(X):
        low, high = min_max_axis(X, axis=0)
    else:
        low, high = X.min(0), X.max(0)
    return bool((low < high).any())


def _slowest(
    extent: Float64[np.ndarray, " directions"], n_bits: int
) -> tuple[Int[np.ndarray, " bits"], Int[np.ndarray, " bits"]]:
    """Direction and wave number of the `n_bits` cosines of lowest frequency."""
    nonempty = np.flatnonzero(extent > 0)
    wave_numbers = np.arange(1, n_bits + 1)
    frequency = wave_numbers / extent[nonempty, None]
    order = np.argsort(frequency, axis=None, kind="stable")[:n_bits]
    direction, wave = np.divmod(order, n_bits)
    return nonempty[direction], wave_numbers[wave]


def _positive_cosine(
    phase: Float64[np.ndarray, "cases bits"],
) -> UInt8[np.ndarray, "cases bits"]:
    """Where cos(pi * phase) > 0: on the half waves around the even numbers."""
    half_wave = np.floor(np.round(phase, DECIMALS) + 0.5)
    return (half_wave % 2 == 0).astype(np.uint8)
