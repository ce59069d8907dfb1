"""The choice of a preprocessing by kernel ridge regression for left-out cases."""

import numpy as np
import pytest
from scipy import sparse

from crbm.preprocessing import choice

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
NOISE = 0.1 * RNG.normal(size=(120, 2))


def brute_force_error(kernel, Y, penalty):
    """Leave one case out, centre the rest, solve, predict it; written out."""
    n, errors = len(kernel), []
    middle = kernel - kernel.mean(0) - kernel.mean(1)[:, None] + kernel.mean()
    scale = penalty * np.trace(middle)
    for out in range(n):
        rest = np.arange(n) != out
        own = kernel[np.ix_(rest, rest)]
        centred = own - own.mean(0) - own.mean(1)[:, None] + own.mean()
        mean = Y[rest].mean(0)
        alpha = np.linalg.solve(centred + scale * np.eye(n - 1), Y[rest] - mean)
        row = kernel[out, rest] - own.mean(0)
        row = row - row.mean()
        errors.append((mean + row @ alpha - Y[out]) ** 2)
    return np.mean(errors)


def test_the_left_out_error_is_that_of_new_fits():
    kernel, Y = X[:20] @ X[:20].T, X[:20, :2] ** 2 + X[:20, 1:]
    expected = min(brute_force_error(kernel, Y, p) for p in choice.PENALTIES)
    assert choice.left_out_error(kernel, Y - Y.mean(0)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("inputs", "labels", "kinds"),
    [
        (X, X[:, :2] + NOISE, {"none"}),
        (X * [1e6, 1, 1e-3], X[:, :2] + NOISE, {"standardise"}),
        (X, np.sin(3 * X[:, :2]) + NOISE, {"rbf", "rbf-rank", "rbf-centre"}),
        (np.exp(4 * X), np.sin(2 * X[:, :2]) + NOISE, {"rbf-rank"}),
        (X[:30], X[:30], {"none"}),  # too few to tell
    ],
)
def test_the_choice_suits_the_data(inputs, labels, kinds):
    usual = "none" if np.abs(inputs).max() < 10 else "standardise"
    assert choice.choose(inputs, labels, usual).kind in kinds


def test_sparse_inputs_and_unknown_labels():
    dense = (RNG.random((200, 40)) < 0.1).astype(float)
    Y = dense[:, :3].copy()
    Y[::7, 0] = np.nan
    Y[:, 2] = np.nan
    found = choice.choose(sparse.csr_array(dense), Y, "none")
    assert found.kind == choice.choose(dense, Y, "none").kind == "none"


def test_constant_inputs_and_labels_have_a_choice():
    assert choice.choose(np.ones((60, 2)), np.zeros((60, 1)), "none").kind == "none"
