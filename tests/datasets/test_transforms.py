from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import issparse, random_array
from scipy.stats import spearmanr
from sklearn.base import clone

from crbm.datasets import folds, load, pipeline
from crbm.datasets.transforms import KINDS, signed_exp, signed_log

RNG = np.random.default_rng(0)
WILD = RNG.normal(size=(200, 4)) * [1e-6, 1, 1e6, 1e13]
WILD[:, 1] = 3.0  # constant


@pytest.mark.parametrize("kind", KINDS)
def test_the_test_part_does_not_leak_into_the_training_part(kind):
    """Other test rows leave the transformed training rows as they were."""
    train = WILD[:150]
    steps = pipeline(kind).fit(train)
    before = steps.transform(train)
    after = clone(steps).fit(train).transform(np.vstack([train, WILD[150:] * 1e3]))
    np.testing.assert_array_equal(after[:150], before)


@pytest.mark.parametrize("kind", ["standardise", "log", "rank"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wild_scales_become_alike_and_constants_zero(kind, dtype):
    X = WILD.astype(dtype)
    result = pipeline(kind).fit_transform(X)
    assert np.isfinite(result).all()
    np.testing.assert_allclose(result[:, 1], 0, atol=1e-6)  # float32 rounding
    varied = result[:, [0, 2, 3]]
    np.testing.assert_allclose(varied.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(varied.std(0), 1, atol=1e-5)


def test_log_and_rank_keep_the_order():
    for kind in ("log", "rank"):
        result = pipeline(kind).fit_transform(WILD)
        for column in (0, 2, 3):
            assert spearmanr(result[:, column], WILD[:, column])[0] > 0.9999


def test_rank_gives_outliers_no_weight():
    X = np.append(RNG.normal(size=99), 1e13)[:, None]
    assert np.abs(pipeline("rank").fit_transform(X)).max() < 6
    assert np.abs(pipeline("robust").fit_transform(X)).max() > 1e12


def test_unit_norm_rows_have_length_one():
    result = pipeline("unit-norm").fit_transform(WILD)
    np.testing.assert_allclose(np.linalg.norm(result, axis=1), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_stays_sparse(kind):
    X = random_array((50, 8), density=0.2, format="csr", rng=RNG)
    X = X.astype(np.float32)
    result = pipeline(kind, sparse=True).fit_transform(X)
    assert issparse(result)
    assert result.nnz <= X.nnz


def test_signed_log_has_an_inverse():
    np.testing.assert_allclose(signed_exp(signed_log(WILD)), WILD, rtol=1e-12)


def test_few_rows_and_new_kinds():
    assert pipeline("rank").fit_transform(np.arange(3.0)[:, None]).shape == (3, 1)
    assert clone(pipeline("rank"))[0].get_params()["n_quantiles"] == 1000
    with pytest.raises(ValueError, match="There is no scaling `z`; use one of `none`"):
        pipeline("z")


def test_majorminer_becomes_usable(data_dir):
    """Scales up to 1e13 and 14 constant columns; learned on the training rows.

    The largest possible z-score of n values is the root of n - 1, here 43.
    """
    data = load("majorminer", data_dir)
    fold = folds(data)[0]
    steps = pipeline("rank").fit(data.X[fold.train])
    for part in fold:
        assert np.abs(steps.transform(data.X[part])).max() < 60
