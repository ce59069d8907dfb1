"""Ridge regression with exact predictions for left-out cases, and its calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from crbm.estimators.pooling import minimise, some_rows

Targets = Float[np.ndarray, "cases targets"]


class Regression:
    """Ridge regression of many targets on the same inputs, for any penalty.

    Parameters
    ----------
    F
        Inputs.
    weight
        How much each case counts; all the same unless given.

    Examples
    --------
    >>> F = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> T = 2 * F + 1
    >>> regression = Regression(F)
    >>> slope, intercept = regression.solve(T, penalty=1e-12)
    >>> slope.round(6), intercept.round(6)
    (array([[2.]]), array([1.]))
    >>> folds = [np.array([0, 1]), np.array([2, 3])]
    >>> regression.left_out(T, 1e-12, folds).round(6).ravel()
    array([1., 3., 5., 7.])
    """

    def __init__(
        self,
        F: Float[np.ndarray, "cases inputs"],
        weight: Float[np.ndarray, " cases"] | None = None,
    ) -> None:
        weight = np.ones(len(F)) if weight is None else weight
        self.share = weight / weight.sum()
        self.mean = self.share @ F
        self.root = np.sqrt(weight)[:, None]
        scaled = self.root * (F - self.mean)
        values, self.axes = np.linalg.eigh(scaled.T @ scaled)
        self.values = values.clip(0)
        self.rotated = scaled @ self.axes

    def solve(
        self, T: Targets, penalty: float
    ) -> tuple[Float[np.ndarray, "inputs targets"], Float[np.ndarray, " targets"]]:
        """Weights and intercepts at a penalty per case."""
        middle = self.share @ T
        coefficients = self.axes @ self._rotated_coefficients(T, middle, penalty)
        return coefficients, middle - self.mean @ coefficients

    def left_out(
        self, T: Targets, penalty: float, folds: Sequence[np.ndarray] | None = None
    ) -> Targets:
        """Predictions of each case by a regression without its fold.

        Without folds each case is left out alone. The predictions are those of new
        fits: with H the matrix that turns targets into predictions, the residuals of a
        left-out fold are (1 - H)^-1 times those of the fit to all cases.
        """
        middle = self.share @ T
        found = self.rotated @ self._rotated_coefficients(T, middle, penalty)
        residual = self.root * (T - middle) - found
        shrunk = self.rotated / np.sqrt(self.values + self._ridge(penalty))
        constant = self.root[:, 0] * np.sqrt(1 / (self.root**2).sum())
        if folds is None:
            leverage = (shrunk**2).sum(1) + constant**2
            residual /= (1 - leverage).clip(1e-6)[:, None]
            return T - residual / self.root
        for fold in folds:
            own = shrunk[fold]
            hat = own @ own.T + np.outer(constant[fold], constant[fold])
            kept = np.eye(len(fold)) * (1 + 1e-9) - hat
            residual[fold] = np.linalg.solve(kept, residual[fold])
        return T - residual / self.root

    def _ridge(self, penalty: float) -> float:
        return penalty * float((self.root**2).sum())

    def _rotated_coefficients(
        self, T: Targets, middle: np.ndarray, penalty: float
    ) -> np.ndarray:
        right = self.rotated.T @ (self.root * (T - middle))
        return right / (self.values + self._ridge(penalty))[:, None]


class LabelCalibration(NamedTuple):
    """Log-odds of labels from regressed values: slope, bias, weight of base rates."""

    slope: float
    bias: float
    of_base: float

    def __call__(self, found: Targets, base: np.ndarray) -> Targets:
        """p(v_i = 1 | u)."""
        odds = np.log(base) - np.log1p(-base)
        total = self.slope * (found - base) + self.bias + self.of_base * odds
        return 1 / (1 + np.exp(-total.clip(-30, 30)))


class SetCalibration(NamedTuple):
    """Energies of label sets from regressed values: slope, weight of their counts."""

    slope: float
    of_count: float

    def __call__(self, found: Targets, counts: np.ndarray) -> Targets:
        """p(v | u) over the label sets; 0 for those that were never seen."""
        seen = counts > 0
        log_counts = np.log(np.where(seen, counts, 1))
        total = np.where(seen, self.slope * found + self.of_count * log_counts, -np.inf)
        total = np.exp(total - total.max(1, keepdims=True))
        return total / total.sum(1, keepdims=True)


def calibrate_labels(
    found: Targets, truth: Targets, base: np.ndarray
) -> tuple[LabelCalibration, float]:
    """The calibration with the lowest log loss (NaN is left out), and that loss."""
    known = ~np.isnan(truth)
    odds = np.log(base) - np.log1p(-base)
    parts = np.stack(
        [
            (found - base)[known],
            np.ones(known.sum()),
            np.tile(odds, (len(found), 1))[known],
        ]
    )
    columns, target = torch.from_numpy(parts), torch.from_numpy(truth[known])

    def loss(weights: Tensor) -> Tensor:
        return binary_cross_entropy_with_logits(weights @ columns, target)

    weights, lowest = minimise(loss, [4.0, 0.0, 1.0])
    return LabelCalibration(*weights), lowest


def calibrate_sets(
    found: Targets, places: np.ndarray, counts: np.ndarray, *, use_counts: bool = True
) -> SetCalibration:
    """The calibration with the highest likelihood of the label sets at `places`.

    Cases whose set has a count of 0 are left out. Unless `use_counts`, the order of the
    label sets is that of the regressed values.
    """
    cases = np.flatnonzero(places >= 0)
    cases = cases[np.broadcast_to(counts, found.shape)[cases, places[cases]] > 0]
    cases = cases[some_rows(len(cases), found.shape[1])]
    if not len(cases):
        return SetCalibration(0.0, 1.0)
    seen = torch.from_numpy(np.broadcast_to(counts, found.shape)[cases])
    log_counts = seen.clamp_min(1e-9).log()
    regressed, target = torch.from_numpy(found[cases]), torch.from_numpy(places[cases])

    def loss(weights: Tensor) -> Tensor:
        of_counts = weights[1] * log_counts if use_counts else 0
        scores = weights[0] * regressed + of_counts
        return cross_entropy(scores.masked_fill(seen <= 0, -torch.inf), target)

    slope, *of_count = minimise(loss, [4.0, 0.5] if use_counts else [4.0])[0]
    return SetCalibration(slope, *(of_count or [0.0]))
