"""Checks that several tests of kernels share."""

import pytest
from torch.testing import assert_close

from crbm import kernels


@pytest.fixture
def assert_same_weights():
    """Check that training gives the same weights with and without compiled kernels."""

    def check(train):
        compiled = train()
        with kernels.disabled():
            by_torch = train()
        for name, weight in by_torch.items():
            assert_close(compiled[name], weight, rtol=1e-4, atol=1e-6)  # rounding

    return check
