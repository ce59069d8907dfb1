"""Windows of neighbouring rows, against a plain loop."""

import numpy as np
import pytest

from crbm.datasets import windows

RNG = np.random.default_rng(0)
X, GROUPS = RNG.normal(size=(12, 3)), np.repeat([4, 2, 9], [5, 1, 6])


def by_loop(offsets, fill):
    found, rows = [], []
    for row in range(len(X)):
        parts = []
        for step in offsets:
            place = row + step
            inside = 0 <= place < len(X) and GROUPS[place] == GROUPS[row]
            parts.append(X[place] if inside else None)
        if fill is None and any(part is None for part in parts):
            continue
        filled = [np.full(3, fill) if part is None else part for part in parts]
        found.append(np.concatenate(filled))
        rows.append(row)
    return np.array(found), rows


@pytest.mark.parametrize("offsets", [range(-2, 0), (-1, 0, 1), (3,)])
@pytest.mark.parametrize("fill", [None, 0.0, -7.0])
def test_windows_hold_the_rows_at_the_offsets(offsets, fill):
    found = windows(X, offsets, groups=GROUPS, fill=fill)
    expected, rows = by_loop(offsets, fill)
    np.testing.assert_array_equal(found.values, expected)
    assert found.rows.tolist() == rows


def test_wrong_windows_are_refused():
    with pytest.raises(ValueError, match="at least one row"):
        windows(X, [])
    with pytest.raises(ValueError, match="rows of numbers; got shape"):
        windows(X[0], [0])
    with pytest.raises(ValueError, match="`groups` has 3 entries; `X` has 12 rows"):
        windows(X, [0], groups=[1, 2, 3])
