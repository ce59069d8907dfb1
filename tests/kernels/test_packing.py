"""Products with packed matrices against those in double precision."""

import pytest
import torch
from torch.testing import assert_close

from conftest import needs_onednn
from crbm.kernels import packing


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@needs_onednn
@pytest.mark.parametrize("n_rows", [1, 9, 16, 100])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_are_right(n_rows, transposed):
    weight = normal(200, 300).T if transposed else normal(300, 200)
    x, bias = normal(n_rows, 300, seed=1), normal(n_rows, 200, seed=2)
    exact = x.double() @ weight.double() + bias.double()
    found = packing.affine(x, packing.pack(weight), bias)
    assert_close(found.double(), exact, rtol=0, atol=1e-4)  # sums of 300 terms


@needs_onednn
def test_one_bias_for_all_rows():
    weight, x, bias = normal(300, 200), normal(9, 300, seed=1), normal(200, seed=2)
    found = packing.affine(x, packing.pack(weight), bias.expand(9, -1))
    assert_close(found, x @ weight + bias, rtol=0, atol=1e-4)


@needs_onednn
def test_only_large_products_without_gradients_are_supported():
    packed = packing.pack(normal(300, 200))
    x, bias = normal(16, 300), normal(16, 200)
    with torch.no_grad():
        assert packing.supports(x, packed, bias)
        assert not packing.supports(x[:2], packed, bias[:2])
        assert not packing.supports(x, packed, None)
        assert not packing.supports(x, packed, bias[:, :100])
        assert not packing.supports(x[None], packed, bias[None])
        assert not packing.supports(x.double(), packed, bias.double())
    assert not packing.supports(x, packed, bias)


@pytest.mark.parametrize(
    "weight", [normal(20, 10), normal(300, 200).double()], ids=["small", "double"]
)
def test_other_matrices_are_not_packed(weight):
    assert packing.pack(weight) is None


@needs_onednn
def test_a_matrix_whose_product_is_wrong_is_not_packed(monkeypatch):
    monkeypatch.setattr(packing, "affine", lambda x, packed, bias: bias)
    assert packing.pack(normal(300, 200)) is None


def test_a_torch_without_the_operators_packs_nothing(monkeypatch):
    monkeypatch.setattr(torch, "ops", object())
    assert packing.pack(normal(300, 200)) is None
