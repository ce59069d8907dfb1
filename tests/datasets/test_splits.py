from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse

from crbm.datasets import Dataset, folds, load


def check(result, n_rows: int) -> None:
    """Every fold is a partition; over the folds each row is tested once."""
    for fold in result:
        parts = np.concatenate(fold)
        assert sorted(parts.tolist()) == list(range(n_rows))
    for part in ("valid", "test"):
        tested = np.concatenate([getattr(fold, part) for fold in result])
        assert sorted(tested.tolist()) == list(range(n_rows))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(n_rows=st.integers(10, 300), seed=st.integers(0, 5))
def test_every_row_is_tested_once_in_ten_folds_of_80_10_10(n_rows, seed):
    result = folds(n_rows, seed=seed)
    assert len(result) == 10
    check(result, n_rows)
    for fold in result:
        assert abs(len(fold.test) - n_rows / 10) < 1
        assert abs(len(fold.valid) - n_rows / 10) < 1


def test_the_seed_alone_decides():
    first, again, other = folds(100), folds(100), folds(100, seed=1)
    assert all((a.test == b.test).all() for a, b in zip(first, again, strict=True))
    assert any((a.test != b.test).any() for a, b in zip(first, other, strict=True))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(groups=st.lists(st.sampled_from("abcdefghijklmnop"), min_size=60, max_size=120))
def test_groups_stay_together(groups):
    names = np.array([*groups, *"abcdefghijklmnop"])
    result = folds(len(names), groups=names)
    check(result, len(names))
    for fold in result:
        parts = [set(names[part]) for part in fold]
        assert not parts[0] & parts[1]
        assert not parts[0] & parts[2]
        assert not parts[1] & parts[2]


def test_groups_of_the_data_set_are_used_and_shuffled_by_the_seed():
    groups = np.repeat(np.arange(40), 3)
    data = Dataset(X=np.zeros((120, 1)), Y=np.zeros((120, 1), np.uint8), groups=groups)
    first, other = folds(data), folds(data, seed=1)
    assert all(len(fold.test) == 12 for fold in first)
    assert all(len(set(groups[fold.test])) == 4 for fold in first)
    assert any((a.test != b.test).any() for a, b in zip(first, other, strict=True))


def test_majorminer_songs_are_not_torn_apart(data_dir):
    data = load("majorminer", data_dir)
    for fold in folds(data):
        assert not set(data.groups[fold.train]) & set(data.groups[fold.test])
        assert 0.09 < len(fold.test) / len(data) < 0.11


def spread(Y, result):
    """How unevenly the labels are shared: the largest relative gap of any label."""
    shares = np.array([Y[fold.test].sum(0) for fold in result]) / Y.sum(0)
    return np.abs(shares - 1 / len(result)).max()


def test_stratified_blocks_share_every_label_evenly():
    """Each rare label, seen ten times, falls once into each of ten blocks."""
    rng = np.random.default_rng(0)
    Y = (rng.random((400, 6)) < [0.5, 0.3, 0.2, 0.1, 0, 0]).astype(np.uint8)
    Y[rng.permutation(400)[:10], 4] = 1
    Y[rng.permutation(400)[:10], 5] = 1
    result = folds(Y, stratify=True)
    check(result, 400)
    for label in (4, 5):
        assert [Y[fold.test, label].sum() for fold in result] == [1] * 10
    assert spread(Y, result) < 0.03 < 0.09 < spread(Y, folds(400))
    assert max(abs(len(fold.test) - 40) for fold in result) <= 3
    again, other = folds(Y, stratify=True), folds(Y, stratify=True, seed=1)
    assert all((a.test == b.test).all() for a, b in zip(result, again, strict=True))
    assert any((a.test != b.test).any() for a, b in zip(result, other, strict=True))


def test_stratified_groups_stay_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 3)
    Y = np.repeat(rng.random((60, 3)) < 0.3, 3, axis=0).astype(np.uint8)
    data = Dataset(X=np.zeros((180, 1)), Y=Y, groups=groups)
    result = folds(data, 3, stratify=True)
    check(result, 180)
    for fold in result:
        assert not set(groups[fold.test]) & set(groups[fold.train])
    assert spread(Y, result) < 0.06 < 0.1 < spread(Y, folds(data, 3))


def test_unknown_labels_and_sparse_ones_are_stratified():
    Y = np.repeat([[1.0, np.nan], [0.0, 1.0]], [6, 24], axis=0)
    found = folds(Y, 3, stratify=True)
    assert [(Y[fold.test, 0] == 1).sum() for fold in found] == [2, 2, 2]
    packed = folds(sparse.csr_array(np.nan_to_num(Y)), 3, stratify=True)
    assert all((a.test == b.test).all() for a, b in zip(found, packed, strict=True))


def test_stratification_needs_labels():
    with pytest.raises(ValueError, match="`stratify` needs labels"):
        folds(100, stratify=True)


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="10 folds need at least 10 rows; there are 9"):
        folds(9)
    with pytest.raises(
        ValueError, match="10 folds need at least 10 groups; there are 2"
    ):
        folds(20, groups=np.arange(20) % 2)
    with pytest.raises(ValueError, match="at least 3, not 2"):
        folds(20, n_folds=2)
    with pytest.raises(ValueError, match="`groups` has 3 values for 20 rows"):
        folds(20, groups=np.arange(3))
