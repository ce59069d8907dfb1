"""Spectral codes against the published recipe, followed step by step."""

import math
import pickle

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from crbm.hashing import SpectralHash, spectral as module


def oracle_codes(train, test, n_bits):
    """The codes by the recipe of Weiss et al., one number at a time."""
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(train, rowvar=False)))
    kept = np.argsort(-values)[: min(n_bits, train.shape[1])]
    directions = [vectors[:, j] for j in kept]
    directions = [d * math.copysign(1, d[np.abs(d).argmax()]) for d in directions]
    epsilon = np.finfo(float).eps
    lower = [(train @ d).min() - epsilon for d in directions]
    upper = [(train @ d).max() + epsilon for d in directions]
    extent = [b - a for a, b in zip(lower, upper, strict=True)]
    modes = []
    for j, length in enumerate(extent):
        for k in range(1, math.ceil((n_bits + 1) * length / max(extent))):
            modes.append(((math.pi * k / length) ** 2, j, k))
    codes = []
    for row in test:
        code = []
        for _, j, k in sorted(modes)[:n_bits]:
            x = row @ directions[j] - lower[j]
            code.append(int(math.sin(math.pi / 2 + math.pi * k / extent[j] * x) > 0))
        codes.append(code)
    return np.array(codes)


def cloud(seed, n_cases=60, n_features=4):
    """Points in a box with sides of different lengths, turned and moved."""
    rng = np.random.default_rng(seed)
    box = rng.uniform(size=(n_cases, n_features)) * rng.uniform(1, 4, n_features)
    turn = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
    return box @ turn + rng.normal(size=n_features)


@pytest.mark.parametrize("n_features", [1, 2, 3, 6])
@pytest.mark.parametrize("n_bits", [1, 2, 5, 7, 13])
def test_codes_are_those_of_the_published_recipe(n_features, n_bits):
    train, test = cloud(n_bits, 80, n_features), cloud(99, 40, n_features)
    fitted = SpectralHash(n_bits).fit(train)
    for points in (train, test):
        expected = oracle_codes(train, points, n_bits)
        assert_array_equal(fitted.encode(points), expected)


def test_more_inputs_than_the_covariance_is_formed_for(monkeypatch):
    train = cloud(3, 50, 8)
    expected = oracle_codes(train, train, 5)
    monkeypatch.setattr(module, "COVARIANCE_LIMIT", 7)
    for points in (train, sparse.csr_array(train)):
        assert_array_equal(SpectralHash(5).fit(points).encode(train), expected)


def test_long_directions_carry_several_bits():
    rng = np.random.default_rng(0)
    plane = rng.uniform(size=(500, 2)) * [10, 2.9]
    fitted = SpectralHash(6).fit(plane)
    assert fitted.directions_.tolist() == [0, 0, 0, 1, 0, 0]
    assert fitted.wave_numbers_.tolist() == [1, 2, 3, 1, 4, 5]


def test_the_largest_entry_of_a_direction_is_positive():
    components = SpectralHash(4).fit(cloud(5)).components_
    assert (components[np.arange(4), np.abs(components).argmax(1)] > 0).all()
    assert_allclose(components @ components.T, np.eye(4), atol=1e-12)


def test_a_mirrored_cloud_has_the_same_distances():
    points = cloud(1)
    apart = []
    for sign in (1, -1):
        codes = SpectralHash(9).fit(sign * points).encode(sign * points).astype(int)
        apart.append((codes[:, None] != codes[None]).sum(-1))
    assert_array_equal(*apart)


@pytest.mark.parametrize("layout", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_inputs_give_the_codes_of_dense_ones(layout):
    rng = np.random.default_rng(4)
    dense = rng.uniform(size=(70, 9)) * (rng.uniform(size=(70, 9)) < 0.4)
    expected = SpectralHash(7).fit(dense).encode(dense)
    assert_array_equal(
        SpectralHash(7).fit(layout(dense)).encode(layout(dense)), expected
    )


@pytest.mark.parametrize("n_features", [30, 1200])
def test_sparse_inputs_are_never_made_dense(monkeypatch, n_features):
    rng, shape = np.random.default_rng(0), (41, n_features)
    points = sparse.csr_array(rng.random(shape) * (rng.random(shape) < 0.1))
    original = sparse.csr_array.toarray

    def toarray(matrix, *args, **kwargs):
        assert matrix.shape[0] != 41
        return original(matrix, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", toarray)
    with pytest.raises(AssertionError):
        points.toarray()
    assert len(np.unique(SpectralHash(7).fit(points).encode(points), axis=0)) > 7


def test_tensors_are_inputs_too():
    points = torch.from_numpy(cloud(2)).requires_grad_()
    expected = SpectralHash().fit(cloud(2)).encode(cloud(2))
    assert_array_equal(SpectralHash().fit(points).encode(points), expected)
    assert_array_equal(SpectralHash().fit(points.to_sparse()).encode(points), expected)


def test_two_fits_agree_to_the_bit():
    points = cloud(8, 90, 5)
    first, second = SpectralHash(12).fit(points), SpectralHash(12).fit(points.copy())
    assert_array_equal(first.components_, second.components_)
    assert_array_equal(first.encode(points), second.encode(points))


def test_a_large_mean_does_not_disturb_the_codes():
    points = cloud(6)
    moved = SpectralHash(7).fit(points + 1e7).encode(points + 1e7)
    assert_array_equal(moved, SpectralHash(7).fit(points).encode(points))


def test_codes_on_a_threshold_do_not_depend_on_the_batch():
    # The middle value lies exactly where the first cosine changes sign.
    points = np.repeat([[0.1, 0.7], [0.2, 1.4], [0.3, 2.1]], 5, axis=0)
    fitted = SpectralHash(3).fit(points)
    single = [fitted.encode(row[None])[0] for row in points]
    assert_array_equal(fitted.encode(points), single)
    assert_array_equal(fitted.encode(points)[::5, 0], [1, 0, 0])


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "points",
    [np.full((5, 3), 0.1), np.ones((1, 4)), np.zeros((3, 2)), np.ones((4, 1200))],
    ids=["constant", "single", "zero", "wide"],
)
def test_inputs_that_do_not_vary_share_one_code(points, layout):
    fitted = SpectralHash(6).fit(layout(points))
    assert_array_equal(fitted.encode(points), np.zeros((len(points), 6)))
    assert fitted.encode(points + 1).dtype == np.uint8


@pytest.mark.parametrize("n_features", [3, 1200])
def test_few_distinct_rows_are_told_apart(n_features):
    rows = np.eye(n_features)[:3] * [[1.0], [2.0], [3.0]]
    points = np.repeat(rows, 10, axis=0)
    codes = SpectralHash(9).fit(points).encode(points)
    assert_array_equal(codes, np.repeat(codes[::10], 10, axis=0))
    assert len(np.unique(codes, axis=0)) == 3


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_fewer_cases_than_bits(layout):
    points = np.random.default_rng(9).uniform(size=(5, 1200))
    codes = SpectralHash(9).fit(layout(points)).encode(points)
    # In the plane of the cases themselves the same distances, so the same codes
    # up to the signs of directions, which turn whole columns.
    plane = np.linalg.svd(points - points.mean(0), full_matrices=False)
    inside = plane.U[:, :4] * plane.S[:4]
    expected = SpectralHash(9).fit(inside).encode(inside)
    assert_array_equal(codes[:, None] != codes, expected[:, None] != expected)


def test_constant_columns_change_nothing():
    points = cloud(7)
    padded = np.hstack([np.full((60, 1), 3.0), points, np.zeros((60, 2))])
    expected = SpectralHash(9).fit(points).encode(points)
    assert_array_equal(SpectralHash(9).fit(padded).encode(padded), expected)


def test_a_pickled_hash_gives_the_same_codes():
    fitted = SpectralHash(11).fit(cloud(0))
    restored = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(restored.encode(cloud(1)), fitted.encode(cloud(1)))


def test_it_names_its_bits():
    fitted = SpectralHash(2).fit(cloud(0))
    names = ["spectralhash0", "spectralhash1"]
    assert fitted.get_feature_names_out().tolist() == names


def test_errors_say_what_was_needed():
    with pytest.raises(ValueError, match="`n_bits` must be at least 1; got 0"):
        SpectralHash(0).fit(cloud(0))
    with pytest.raises(ValueError, match=r"`n_bits` must be at most 62.*got 63"):
        SpectralHash(63).fit(cloud(0))
    with pytest.raises(TypeError, match="`n_bits` must be a whole number"):
        SpectralHash().set_params(n_bits=2.5).fit(cloud(0))
    with pytest.raises(NotFittedError):
        SpectralHash().encode(cloud(0))
    with pytest.raises(ValueError, match="expecting 4 features"):
        SpectralHash().fit(cloud(0)).encode(cloud(0)[:, :3])


@parametrize_with_checks([SpectralHash(), SpectralHash(n_bits=20)])
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)
