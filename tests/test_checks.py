"""Checks for 0 and 1, wherever in a large table another value stands."""

import numpy as np
import pytest
import torch

from crbm import checks


def table(value=0.0, place=0, dtype=torch.float32):
    """Zeros and ones with one other value among them."""
    generator = torch.Generator().manual_seed(0)
    v = (torch.rand(700, 5, generator=generator) < 0.5).to(dtype)
    v.view(-1)[place] = value
    return v


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("value", [0.0, -0.0, 1.0])
def test_zero_and_one_pass(value, dtype):
    checks.binary("v", table(value, dtype=dtype))


@pytest.mark.parametrize("place", [0, 1283, 3499])  # in the first, second, last part
@pytest.mark.parametrize(
    "value",
    [0.5, -1.0, 2.0, 1 + 2**-23, 1 - 2**-24, 1e-40, 1e30, torch.inf, -torch.inf],
)
def test_other_numbers_raise(value, place):
    row, column = divmod(place, 5)
    with pytest.raises(ValueError, match=rf"0 or 1; row {row}, column {column} holds"):
        checks.binary("v", table(value, place))


def test_nan_passes_where_labels_may_be_missing():
    checks.binary("v", table(torch.nan), missing=True)
    with pytest.raises(ValueError, match="`v` must hold 0 or 1; row 0, column 0"):
        checks.binary("v", table(torch.nan))


def test_other_numbers_do_not_hide_each_other():
    v = torch.full((10, 3), 0.5)
    v[0], v[1] = 0.0, 2.0  # here x - x^2 cancels that of the others
    assert (v - v * v).sum() == 0
    with pytest.raises(ValueError, match="row 1, column 0 holds 2"):
        checks.binary("v", v)


def test_empty_tables_pass():
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 3)):
        checks.binary("v", torch.empty(shape))
        assert checks.first_not_binary(np.empty(shape)) is None


KINDS = {
    "tensor": torch.tensor,
    "integer tensor": lambda rows: torch.tensor(rows).long(),
    "array": np.array,
    "integer array": lambda rows: np.array(rows).astype(np.int16),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [False, True])
def test_the_first_other_value_is_found(kind, missing):
    def place(rows):
        return checks.first_not_binary(KINDS[kind](rows), missing=missing)

    assert place([[0.0, 1.0], [1.0, 0.0]]) is None
    assert place([[0.0, 1.0], [-1.0, 2.0]]) == (1, 0)
    assert place([[0.0, 2.0], [-1.0, 0.0]]) == (0, 1)
    assert place([1.0, 0.0, 3.0]) == (2,)


@pytest.mark.parametrize("kind", ["tensor", "array"])
def test_nan_is_another_value_unless_labels_may_be_missing(kind):
    values = KINDS[kind]([[0.0, torch.nan], [1.0, 2.0]])
    assert checks.first_not_binary(values) == (0, 1)
    assert checks.first_not_binary(values, missing=True) == (1, 1)


@pytest.mark.parametrize("kind", [torch.tensor, np.array])
def test_bools_are_binary(kind):
    assert checks.first_not_binary(kind([[True, False]]), missing=True) is None
