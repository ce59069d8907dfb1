from __future__ import annotations

import gzip

import pytest
from scipy.sparse import csr_array, issparse

from crbm.datasets import read, write
from crbm.datasets.formats import libsvm

ROWS = "0,2 1:0.5 3:-1\n 2:4\n1\n1:7\n \n"


def test_labels_may_be_missing_and_so_may_features(put):
    data = read(put("a.libsvm", ROWS))
    assert issparse(data.X)
    assert data.X.toarray().tolist() == [
        [0.5, 0, -1],
        [0, 4, 0],
        [0, 0, 0],
        [7, 0, 0],
        [0, 0, 0],
    ]
    assert data.Y.tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_sizes_and_names_can_be_stated(put):
    path = put("a.libsvm", ROWS)
    assert read(path, n_features=9, n_labels=5).X.shape == (5, 9)
    assert read(path, labels=["a", "b", "c", "d"]).label_names == ("a", "b", "c", "d")


def test_zero_based_features_comments_and_gzip(put):
    path = put("a.svm.gz", gzip.compress(b"1 0:2 4:1 # hello\r\n"))
    data = libsvm.read(path, zero_based=True)
    assert data.X.toarray().tolist() == [[2, 0, 0, 0, 1]]
    assert data.Y.tolist() == [[0, 1]]


@pytest.mark.parametrize("zero_based", [True, False])
def test_round_trip(tmp_path, small, assert_same, zero_based):
    file = tmp_path / "small.libsvm"
    libsvm.write(file, small, zero_based=zero_based)
    found = libsvm.read(file, small.label_names, n_features=3, zero_based=zero_based)
    expected = type(small)(
        X=csr_array(small.X), Y=small.Y, label_names=small.label_names
    )
    assert_same(found, expected)


def test_write_is_told_by_the_name(tmp_path, small):
    write(tmp_path / "a.svm", small)
    assert (tmp_path / "a.svm").read_text().startswith("0 1:0.1 3:-3e-07\n \n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file is empty"),
        ("\n\n", "no rows"),
        ("0 1:1\nx 1:1\n", "line 2: labels must be ids"),
        ("0 1:1\n-1 1:1\n", "line 2: labels must be ids"),
        ("0 1:1\n0, 1:1\n", "line 2: labels must be ids"),
        ("0 1:1\n3,3 1:1\n", "line 2: a label appears twice"),
        ("0 1:1\n0 1\n", "line 2: features must be `index:value`"),
        ("0 1:1\n0 1:2:3 4\n", "line 2: features must be `index:value`"),
        ("0 1:1\n0 qid:3 1:1\n", "line 2: features must be `index:value`"),
        ("0 1:1\n0 1:x\n", "line 2: could not convert string"),
        ("0 1:1\n0 1:nan\n", "line 2: a value is NaN"),
        ("0 1:1\n0 1:1e39\n", "line 2: a value is NaN, infinite or too large"),
        ("0 1:1\n0 0:1\n", "line 2: feature indices must be in 1"),
        ("0 1:1\n0 2:1 2:1\n", "line 2: feature indices must increase"),
        ("0 1:1\n0 99999999:1\n", "line 2: feature indices must be in"),
        ("0 1:1\n999999999999 1:1\n", "line 2: label 999999999999 is out of range"),
    ],
)
def test_damage_is_named_with_its_line(put, text, message):
    path = put("bad.libsvm", text)
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_labels_out_of_the_stated_range_are_refused(put):
    with pytest.raises(ValueError, match="line 1: label 2 is out of range for 2"):
        read(put("a.libsvm", ROWS), n_labels=2)


def test_a_count_is_not_a_name(put):
    with pytest.raises(ValueError, match="pass `n_labels`"):
        read(put("a.libsvm", ROWS), labels=3)
