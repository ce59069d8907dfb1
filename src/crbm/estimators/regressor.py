"""CRBMRegressor: several real targets that depend on each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
)
from torch import Tensor

from crbm import checks
from crbm.estimators import base_regression, inputs, regressor_files
from crbm.estimators.encoding import fit_generator, to_generator
from crbm.estimators.members import all_or_nothing
from crbm.estimators.regression_training import Cases, Schedule, train
from crbm.models.gaussian import GaussianCRBM, GaussianMixture, patterns

ROWS_AT_ONCE = 1024
NOISES = ("full", "diagonal")


@dataclass(eq=False, repr=False, kw_only=True)
class CRBMRegressor(RegressorMixin, MultiOutputMixin, BaseEstimator):  # type: ignore[misc]
    """Several real targets: their means by regression, what is left by a CRBM.

    A base regression predicts each target. A CRBM with Gaussian outputs learns the
    distribution of the residuals given the input: through its hidden units the targets
    depend on each other, and their noise depends on the input. It is trained by its
    exact likelihood plus the squared error of the means. Residuals are those of cases
    that the base regression has not seen (cross-validation). Targets and inputs are
    scaled inside; all probabilities are exact sums over the hidden states.

    Parameters
    ----------
    n_hidden
        Binary hidden units, at most 14; with 0 and `n_spreads=1` all residuals have one
        Gaussian.
    noise
        "full", Gaussian noise with a covariance matrix, or "diagonal", a variance for
        each target.
    n_spreads
        The number of values of a hidden unit that widens or narrows the noise: it
        depends on the input and gives the noise heavy tails; 1 is the same noise for
        all cases.
    base
        What predicts the means: "ridge", ridge regression with the penalty chosen by
        leave-one-out; "auto", a weighted sum of it and of randomised trees, whose
        weights have the smallest error on cases that were left out; or any regressor
        of scikit-learn. None is "ridge".
    n_epochs, batch_size, learning_rate
        Passes over the data, cases per update and step size of Adam, which falls to 0.
    l2
        Strength of the penalty on the weights from the inputs to the hidden units.
    validation_fraction
        The share of the cases held out to choose the number of epochs, in several
        splits where there are few cases; all cases are then learned from. 0 trains for
        all epochs.
    random_state
        Seed of all randomness.

    Attributes
    ----------
    model_
        The `GaussianCRBM` of the scaled residuals.
    base_
        The fitted base regression.
    history_
        Mean log-likelihood of the held-out cases at the start, one Gaussian for all
        residuals, and after each epoch.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> X, Y = make_regression(100, 5, n_targets=2, noise=1.0, random_state=0)
    >>> regressor = CRBMRegressor(n_epochs=5, random_state=0).fit(X, Y)
    >>> regressor.predict(X).shape
    (100, 2)
    >>> mean, covariance = regressor.predict(X, return_cov=True)
    >>> covariance.shape
    (100, 2, 2)
    """

    # scikit-learn wants wrong parameters stored here and refused in `fit`
    __no_type_check__ = True

    n_hidden: int = 4
    noise: str = "full"
    n_spreads: int = 3
    base: Any = "auto"
    n_epochs: int = 60
    batch_size: int = 128
    learning_rate: float = 0.02
    l2: float = 0.1
    validation_fraction: float = 0.2
    random_state: Any = None

    def _check_parameters(self) -> None:
        checks.one_of("noise", self.noise, NOISES)
        checks.whole_number("n_spreads", self.n_spreads, at_least=1)
        if isinstance(self.base, str):
            checks.one_of("base", self.base, base_regression.NAMES)
        checks.whole_number("n_epochs", self.n_epochs, at_least=0)
        checks.whole_number("batch_size", self.batch_size, at_least=1)
        checks.positive("learning_rate", self.learning_rate)
        checks.not_negative("l2", self.l2)
        checks.unit_interval(
            "validation_fraction", self.validation_fraction, open_end=True
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CRBMRegressor:
        """Learn from inputs X and targets y; targets may be missing (NaN)."""
        self._check_parameters()
        if y is None:
            raise ValueError(
                "This regressor requires y to be passed, but the target y is None."
            )
        with all_or_nothing(self), np.errstate(over="ignore", invalid="ignore"):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        numbers = inputs.to_numbers(self, X, learn=True, reset=True)
        numbers = base_regression.dense(numbers)
        Y = self._learn_targets(y, len(numbers))
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, numbers, dtype=np.float64, ensure_non_negative=True
            )
            keep = weight > 0
            numbers, Y, weight = numbers[keep], Y[keep], weight[keep]
        self.center_ = np.nanmean(Y, 0)
        spread = _finite(np.nanstd(Y, 0))
        self.scale_ = np.where(spread > 0, spread, 1.0)
        self.base_, predicted = base_regression.fit(
            self.base, numbers, (Y - self.center_) / self.scale_, weight
        )
        residual = (Y - self.center_) / self.scale_ - predicted
        self._fit_residuals(numbers, predicted, residual, weight)

    def _learn_targets(self, y: Any, n_cases: int) -> np.ndarray:
        Y = check_array(
            y,
            ensure_2d=False,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            input_name="y",
            ensure_min_samples=2,
        )
        if Y.ndim == 1:
            assert_all_finite(Y, input_name="y")
        self.single_target_ = Y.ndim == 1
        Y = Y[:, None] if Y.ndim == 1 else Y
        if len(Y) != n_cases:
            raise ValueError(
                f"`X` and `y` need one row per case; `X` has {n_cases}, `y` {len(Y)}. "
                "Found input variables with inconsistent numbers of samples."
            )
        empty = np.isnan(Y).all(0)
        if empty.any():
            raise ValueError(
                f"Target {np.flatnonzero(empty)[0]} of `y` is all missing."
            )
        names = getattr(y, "columns", None)
        self.n_targets_ = Y.shape[1]
        self.target_names_ = [
            str(name) for name in (range(Y.shape[1]) if names is None else names)
        ]
        return Y

    def _fit_residuals(
        self,
        numbers: np.ndarray,
        predicted: np.ndarray,
        residual: np.ndarray,
        weight: np.ndarray | None,
    ) -> None:
        raw = np.hstack([numbers, predicted])
        self.input_center_, spread = raw.mean(0), raw.std(0)
        self.input_scale_ = np.where(spread > 1e-12, spread, np.inf)
        u = torch.from_numpy((raw - self.input_center_) / self.input_scale_)
        r = torch.from_numpy(residual)
        generator = fit_generator(self.random_state)
        self.model_ = GaussianCRBM(
            u.shape[1],
            self.n_targets_,
            self.n_hidden,
            generator,
            full=self.noise == "full",
            n_spreads=self.n_spreads,
            init_scale=0.5,
            dtype=torch.float64,
        )
        weights = None if weight is None else torch.from_numpy(weight)
        try:
            self.history_ = train(
                self.model_,
                Cases(u, r, weights),
                Schedule(self.n_epochs, self.batch_size, self.learning_rate, self.l2),
                validation_fraction=float(self.validation_fraction),
                generator=generator,
            )
        except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
            raise ValueError(
                "The noise is no longer a covariance: training has diverged. Lower "
                f"`learning_rate`; it is {self.learning_rate:g}."
            ) from error

    # Prediction

    def predict(self, X: Any, known: Any = None, *, return_cov: bool = False) -> Any:
        """The expected targets of each case.

        Parameters
        ----------
        X
            Inputs, one row per case.
        known
            Targets that are known already, NaN where they are not; the others are
            predicted given them.
        return_cov
            Whether to return the covariance matrix of each case's targets too.
        """
        n_cases, means, covariances = 0, [], []
        for rows, mixture in self._mixtures(X, known):
            n_cases += len(rows)
            means.append((rows, mixture.mean().numpy()))
            if return_cov:
                covariances.append((rows, mixture.cov().numpy()))
        mean = _finite(_in_order(means, n_cases) * self.scale_ + self.center_)
        mean = mean[:, 0] if self.single_target_ else mean
        if not return_cov:
            return mean
        scale = self.scale_[:, None] * self.scale_
        return mean, _finite(_in_order(covariances, n_cases) * scale)

    def sample(
        self, X: Any, n: int = 1, known: Any = None, *, random_state: Any = None
    ) -> Float[np.ndarray, "n cases targets"]:
        """`n` samples of the targets of each case, given the known ones."""
        checks.whole_number("n", n, at_least=1)
        generator = to_generator(random_state)
        n_cases, drawn = 0, []
        for rows, mixture in self._mixtures(X, known):
            n_cases += len(rows)
            several = [mixture.sample(generator).numpy() for _ in range(n)]
            drawn.append((rows, np.stack(several, 1)))
        found = _finite(_in_order(drawn, n_cases) * self.scale_ + self.center_)
        return np.moveaxis(found, 1, 0)

    @torch.no_grad()
    def score_samples(self, X: Any, y: Any = None) -> Float[np.ndarray, " cases"]:
        """Log density of each case's targets; missing ones are integrated out.

        Without targets, that of the predicted ones: how sure the prediction is.
        """
        u, predicted = self._inputs(X)
        Y = self._known(self.predict(X) if y is None else y, len(u))
        r = torch.from_numpy((Y - self.center_) / self.scale_ - predicted)
        parts = [
            self.model_.log_density(*part)
            for part in zip(u.split(ROWS_AT_ONCE), r.split(ROWS_AT_ONCE), strict=True)
        ]
        sizes = np.where(np.isnan(Y), 0.0, np.log(self.scale_)).sum(1)
        return _finite(torch.cat(parts).numpy() - sizes)

    def _inputs(self, X: Any) -> tuple[Tensor, np.ndarray]:
        """Scaled inputs of the CRBM, and the scaled targets of the base regression."""
        check_is_fitted(self)
        numbers = inputs.to_numbers(self, X, learn=False, reset=False)
        numbers = base_regression.dense(numbers)
        with np.errstate(over="ignore", invalid="ignore"):
            predicted = base_regression.predict(self.base_, numbers)
            raw = np.hstack([numbers, predicted])
            u = _finite((raw - self.input_center_) / self.input_scale_)
        return torch.from_numpy(u), predicted

    def _known(self, y: Any, n_cases: int) -> np.ndarray:
        Y = np.asarray(y, dtype=np.float64)
        Y = Y[:, None] if Y.ndim == 1 else Y
        if Y.shape != (n_cases, self.n_targets_):
            raise ValueError(
                f"Targets must have the shape {(n_cases, self.n_targets_)}, one row "
                f"per case and NaN where one is not known; got {Y.shape}."
            )
        return Y

    def _mixtures(
        self, X: Any, known: Any
    ) -> Iterator[tuple[np.ndarray, GaussianMixture]]:
        """Rows, and the distribution of their scaled targets given the known ones."""
        u, predicted = self._inputs(X)
        if known is None:
            r = torch.full((len(u), self.n_targets_), torch.nan).double()
        else:
            Y = self._known(known, len(u))
            r = torch.from_numpy((Y - self.center_) / self.scale_ - predicted)
        for group, _ in patterns(r):
            for rows in group.split(ROWS_AT_ONCE):
                found = self.model_.mixture(u[rows], r[rows]).detach()
                _finite(found.weight.numpy())
                offset = found.offset + torch.from_numpy(predicted)[rows]
                yield rows.numpy(), found._replace(offset=offset)

    def save(self, path: str | Path) -> None:
        """Write the fitted regressor to one .safetensors file."""
        regressor_files.save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _finite(found: np.ndarray) -> np.ndarray:
    """The numbers; raises for NaN and infinity, which overflow leaves."""
    if not np.isfinite(found).all():
        raise ValueError(
            "Inputs or targets are so large that the regression overflows. Scale them."
        )
    return found


def _in_order(parts: list[tuple[np.ndarray, np.ndarray]], n_cases: int) -> np.ndarray:
    """Pieces put back in the order of their rows."""
    found = np.empty((n_cases, *parts[0][1].shape[1:]))
    for rows, values in parts:
        found[rows] = values
    return found
