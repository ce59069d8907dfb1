"""Preprocessing of inputs as ONNX nodes: missing values, scalings, kernels.

scikit-learn computes in double precision and rounds to that of the inputs after each
step, and so do these nodes: otherwise kernel features would differ visibly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from crbm.export.graph import BOOL, INT64, Value, concatenate, where
from crbm.preprocessing import MissingValues, Preprocessor
from crbm.preprocessing.pipelines import (
    CUT_OFF,
    DistanceScaler,
    KernelFeatures,
    RankTransformer,
    cut_off,
    signed_log,
    times,
)

DOUBLE = np.dtype(np.float64)
# scikit-learn's margin at both ends of the normal distribution.
MARGIN = 1e-7


def fill_missing(x: Value, missing: MissingValues) -> Value:
    """Medians in place of NaN, and a further column for each one that is marked."""
    gone = x.node("IsNaN", dtype=BOOL)
    filled = where(gone, missing.medians[None].astype(x.dtype), x)
    if not len(missing.marked):
        return filled
    return concatenate([filled, gone.take(missing.marked, 1).to(x.dtype)], 1)


def preprocess(x: Value, preprocessor: Preprocessor) -> Value:
    """What `Preprocessor.transform` returns, in the type of the inputs."""
    kind = x.dtype
    for _, step in preprocessor.steps.steps:
        x = STEPS[type(step)](x, step)
    return x.to(kind)


def _standardise(x: Value, step: Any) -> Value:
    return _shift_and_divide(
        x,
        step.mean_ if step.with_mean else None,
        step.scale_ if step.with_std else None,
    )


def _robust(x: Value, step: Any) -> Value:
    return _shift_and_divide(
        x,
        step.center_ if step.with_centering else None,
        step.scale_ if step.with_scaling else None,
    )


def _shift_and_divide(x: Value, shift: Any, scale: Any) -> Value:
    """In double precision, as scikit-learn does; None leaves a part out."""
    kind = x.dtype
    if shift is not None:
        x = (x.to(DOUBLE) - shift).to(kind)
    if scale is not None:
        x = (x.to(DOUBLE) / scale).to(kind)
    return x


def _unit_norm(x: Value, step: Any) -> Value:
    length = (x * x).sum(1, keep=True).sqrt()
    return x / where(length > 0, length, 1)


def _distance(x: Value, step: Any) -> Value:
    return x.to(DOUBLE) * step.scale_[:1]


def _function(x: Value, step: Any) -> Value:
    if step.func is None:
        return x
    if step.func is cut_off:
        return x.clip(-CUT_OFF, CUT_OFF)
    if step.func is times:
        return x * step.kw_args["factor"]
    assert step.func is signed_log
    return x.node("Sign") * (1 + x.abs()).log()


def _kernel(x: Value, step: Any) -> Value:
    components = np.asarray(step.components_, dtype=np.float64)
    gamma = step.gamma or 1 / components.shape[1]
    kernel = (-gamma * squared_distances(x, components).to(x.dtype)).exp()
    return kernel @ np.asarray(step.normalization_.T, dtype=x.dtype)


def squared_distances(x: Value, points: np.ndarray) -> Value:
    """|x - point|^2 in double precision, never below 0."""
    x = x.to(DOUBLE)
    points = np.asarray(points, dtype=np.float64)
    own = (x * x).sum(1, keep=True)
    return (own - 2 * (x @ points.T) + (points**2).sum(1)).maximum(0)


def _rank(x: Value, step: Any) -> Value:
    """Normal scores of the ranks among the quantiles of each column."""
    kind, x = x.dtype, x.to(DOUBLE)
    quantiles, levels = step.quantiles_, step.references_
    # among equal quantiles the mean of the first and of the last level
    level = _level(x, quantiles, levels) - _level(-x, -quantiles[::-1], -levels[::-1])
    level = level / 2
    low, high = quantiles[0], quantiles[-1]
    level = where(x + MARGIN > high, 1, level)
    level = where(x - MARGIN < low, 0, level)
    edge = float(norm.ppf(MARGIN - np.spacing(1)))
    top = float(norm.ppf(1 - (MARGIN - np.spacing(1))))
    return normal_score(level.clip(1e-9, 1 - 1e-9)).clip(edge, top).to(kind)


def _level(x: Value, quantiles: np.ndarray, levels: np.ndarray) -> Value:
    """The level of each number: linear between the quantiles of its column."""
    n_quantiles, n_columns = quantiles.shape
    if n_quantiles == 1:
        return x * 0 + levels[0]
    n_steps = int(n_quantiles).bit_length()
    padded = np.full((2**n_steps, n_columns), np.inf)
    padded[:n_quantiles] = quantiles
    table = x.graph.constant(padded)
    place = (x * 0).to(INT64)  # how many quantiles are at most x, by bisection
    for bit in reversed(range(n_steps)):
        further = place + 2**bit
        fits = table.node("GatherElements", further - 1, axis=0) <= x
        place = where(fits, further, place)
    last = place.clip(1, n_quantiles - 1)
    before, after = (
        table.node("GatherElements", last + shift, axis=0) for shift in (-1, 0)
    )
    width = after - before
    share = where(width > 0, (x - before) / where(width > 0, width, 1), 0).clip(0, 1)
    all_levels = x.graph.constant(levels)
    low, high = (all_levels.node("Gather", last + shift) for shift in (-1, 0))
    # at the last of several equal quantiles x has its level
    return where(place > n_quantiles - 1, levels[-1], low + share * (high - low))


# Wichura's rational approximation of the normal quantiles (algorithm AS 241), with a
# relative error below 1e-15: numerator and denominator, constant first, near the
# middle and in the tails down to 1e-11.
MIDDLE = (
    (
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)
TAIL = (
    (
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)


def normal_score(p: Value) -> Value:
    """The quantiles of the standard normal distribution; p from 1e-9 to 1 - 1e-9."""
    centred = p - 0.5
    near = 0.180625 - centred * centred
    middle = centred * _ratio(near.maximum(0), MIDDLE)
    smaller = where(centred < 0, p, 1 - p)
    root = (-smaller.log()).sqrt()
    tail = centred.node("Sign") * _ratio(root - 1.6, TAIL)
    return where(near > 0, middle, tail)


def _ratio(x: Value, coefficients: tuple[tuple[float, ...], ...]) -> Value:
    above, below = (_polynomial(x, each) for each in coefficients)
    return above / below


def _polynomial(x: Value, coefficients: tuple[float, ...]) -> Value:
    *rest, total = coefficients
    found: Any = total
    for coefficient in reversed(rest):
        found = x * found + coefficient
    return found


STEPS: dict[type, Callable[[Value, Any], Value]] = {
    StandardScaler: _standardise,
    RobustScaler: _robust,
    Normalizer: _unit_norm,
    RankTransformer: _rank,
    KernelFeatures: _kernel,
    DistanceScaler: _distance,
    FunctionTransformer: _function,
}
