"""What passes for binary, wherever in a large table it stands."""

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
def test_other_numbers_are_refused(value, place):
    row, column = divmod(place, 5)
    with pytest.raises(ValueError, match=rf"0 or 1; row {row}, column {column} holds"):
        checks.binary("v", table(value, place))


def test_unknown_ones_pass_where_they_may():
    checks.binary("v", table(torch.nan), missing=True)
    with pytest.raises(ValueError, match="`v` must hold 0 or 1; row 0, column 0"):
        checks.binary("v", table(torch.nan))


def test_other_numbers_do_not_hide_each_other():
    v = torch.full((10, 3), 0.5)
    v[0], v[1] = 0.0, 2.0  # where x - x^2 makes up for the others
    assert (v - v * v).sum() == 0
    with pytest.raises(ValueError, match="row 1, column 0 holds 2"):
        checks.binary("v", v)
