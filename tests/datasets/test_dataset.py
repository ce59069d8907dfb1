from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from crbm.datasets import Dataset

X = np.arange(6, dtype=np.float32).reshape(3, 2)
Y = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.uint8)


def test_statistics_agree_between_dense_and_sparse():
    for outputs in (Y, csr_array(Y)):
        data = Dataset(X=X, Y=outputs)
        assert data.cardinality == 1.0
        assert data.n_label_sets == 2


def test_stored_zeros_and_repeats_do_not_make_new_label_sets():
    stored = csr_array((np.uint8([1, 0, 1]), [0, 1, 0], [0, 2, 3, 3]), shape=(3, 2))
    assert Dataset(X=X, Y=stored).n_label_sets == 2


def test_part_returns_the_rows_of_the_split():
    data = Dataset(X=X, Y=Y, splits={"test": np.array([2])})
    inputs, outputs = data.part("test")
    np.testing.assert_array_equal(inputs, X[2:])
    np.testing.assert_array_equal(outputs, Y[2:])
    with pytest.raises(ValueError, match="has `test`, not `valid`"):
        data.part("valid")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"Y": Y[:2]}, "`Y` has 2 rows and `X` has 3"),
        ({"groups": np.zeros(4)}, "`groups` has 4 rows"),
        ({"Y": Y + 1}, r"holds \[1, 2\]"),
        ({"Y": Y.astype(np.float32) / 2}, "0, 1 or NaN"),
        ({"X": np.full((3, 2), np.nan, np.float32)}, "NaN or infinity"),
        ({"label_names": ("a", "a")}, "`label_names` has `a` twice"),
        ({"label_names": ("a",)}, "1 names for 2 columns"),
        ({"splits": {"test": np.array([3])}}, "Split `test` names row 3"),
    ],
)
def test_inconsistent_parts_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        Dataset(**{"X": X, "Y": Y} | changed)
