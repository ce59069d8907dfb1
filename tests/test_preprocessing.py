from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from crbm.preprocessing import KINDS, Preprocessor, pipeline
from crbm.preprocessing.pipelines import signed_exp, signed_log

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
    # products of matrices of other sizes round differently, and kernels square that
    exact = 1e-9 if "rbf" not in kind else 1e-6
    np.testing.assert_allclose(after[:150], before, rtol=exact, atol=exact)


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


# kernel features are dense
SPARSE_KINDS = [kind for kind in KINDS if not kind.startswith(("kernel", "rbf"))]


@pytest.mark.parametrize("kind", SPARSE_KINDS)
def test_sparse_stays_sparse(kind):
    X = csr_array(RNG.random((50, 8)) * (RNG.random((50, 8)) < 0.2))
    X = X.astype(np.float32)
    result = pipeline(kind, sparse=True).fit_transform(X)
    assert issparse(result)
    assert result.nnz <= X.nnz


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
def test_what_was_learned_comes_back_from_tensors(kind, sparse):
    X = np.abs(WILD).astype(np.float32)
    X = csr_array(X) if sparse else X
    fitted = Preprocessor(kind).fit(X[:150])
    restored = Preprocessor.from_state(kind, fitted.state())
    for rows in (X[150:], X[:1]):
        expected, found = fitted.transform(rows), restored.transform(rows)
        if issparse(expected):
            expected, found = expected.toarray(), found.toarray()
        assert found.dtype == np.float32
        assert np.array_equal(found, expected)


def test_sparse_rows_are_prepared_as_dense_ones_were():
    fitted = Preprocessor("standardise").fit(WILD)
    found = fitted.transform(csr_array(WILD))
    assert np.array_equal(found, fitted.transform(WILD))


@pytest.mark.parametrize("gamma", [1.0, 2.0, 0.5])
def test_kernel_features_have_the_inner_products_of_the_kernel(gamma):
    X = RNG.normal(size=(40, 3))
    scaled = (X - X.mean(0)) / X.std(0)
    centred = rbf_kernel(scaled, gamma=gamma / 3)
    for axis in (0, 1):
        centred -= centred.mean(axis, keepdims=True)
    fitted = Preprocessor("kernel", kernel_gamma=gamma).fit(X)
    features = fitted.transform(X)
    np.testing.assert_allclose(features @ features.T / 100, centred, atol=1e-9)
    restored = Preprocessor.from_state("kernel", fitted.state(), gamma)
    assert np.array_equal(restored.transform(X), features)


def test_signed_log_has_an_inverse():
    np.testing.assert_allclose(signed_exp(signed_log(WILD)), WILD, rtol=1e-12)


def test_few_rows_and_new_kinds():
    assert pipeline("rank").fit_transform(np.arange(3.0)[:, None]).shape == (3, 1)
    assert clone(pipeline("rank"))[0].get_params()["n_quantiles"] == 1000
    with pytest.raises(
        ValueError, match="There is no preprocessing `z`; use one of `none`"
    ):
        pipeline("z")
