"""Packed couplings give what dense ones give."""

import copy
import pickle

import pytest
import torch
from torch.testing import assert_close

import crbm
from conftest import needs_onednn, seeded
from crbm.energies import Dense, PackedDense, pack_dense
from crbm.inference import search

N_INPUTS, N_VISIBLE, N_HIDDEN = 30, 300, 100


def normal(*shape, seed=0):
    return torch.randn(shape, generator=seeded(seed))


@pytest.fixture
def packed():
    coupling = pack_dense(0.1 * normal(N_VISIBLE, N_HIDDEN))
    assert isinstance(coupling, PackedDense)
    return coupling


@needs_onednn
@torch.no_grad()
@pytest.mark.parametrize("leading", [(), (1,), (20,), (4, 5)])
def test_both_directions_are_those_of_the_matrix(packed, leading):
    exact = Dense(packed.weight.double())
    v, h = normal(*leading, N_VISIBLE, seed=1), normal(*leading, N_HIDDEN, seed=2)
    above, below = packed.up(v, h), packed.down(h, v)
    assert_close(above.double(), exact.up(v.double(), h.double()), rtol=0, atol=1e-5)
    assert_close(below.double(), exact.down(h.double(), v.double()), rtol=0, atol=1e-5)
    assert_close(packed.up(v), Dense(packed.weight).up(v))


def test_gradients_reach_the_matrix():
    weight = (0.1 * normal(N_VISIBLE, N_HIDDEN)).requires_grad_()
    v, bias = normal(20, N_VISIBLE, seed=1), normal(20, N_HIDDEN, seed=2)
    pack_dense(weight).up(v, bias).sum().backward()
    assert_close(weight.grad, v.sum(0)[:, None].expand(-1, N_HIDDEN))


@needs_onednn
@torch.no_grad()
@pytest.mark.parametrize(
    "change",
    [
        lambda coupling: coupling.tempered(0.5),
        lambda coupling: coupling.in_precision(torch.float64),
        lambda coupling: coupling.detach(),
        copy.deepcopy,
        lambda coupling: pickle.loads(pickle.dumps(coupling)),
    ],
    ids=["tempered", "in_precision", "detach", "deepcopy", "pickle"],
)
def test_changed_couplings_are_those_of_the_changed_matrix(packed, change):
    v, bias = normal(20, N_VISIBLE, seed=1), normal(20, N_HIDDEN, seed=2)
    expected = change(Dense(packed.weight)).up(v, bias)
    assert_close(change(packed).up(v, bias), expected, rtol=0, atol=1e-5)


@needs_onednn
@torch.no_grad()
def test_the_search_of_a_packed_model_finds_the_same_states(packed):
    model = crbm.CRBM(N_INPUTS, N_VISIBLE, N_HIDDEN, seeded(0), init_scale=0.2)
    u, known = normal(20, N_INPUTS, seed=1), torch.full((20, N_VISIBLE), torch.nan)
    known[:, :50] = 1.0
    before = [search.mean_field(model.condition(u).clamp(k)) for k in (None, known)]
    model.pack()
    assert isinstance(model.condition(u).coupling, PackedDense)
    for expected, k in zip(before, (None, known), strict=True):
        found = search.mean_field(model.condition(u).clamp(k))
        assert_close(found.v, expected.v, rtol=0, atol=1e-5)
        assert_close(found.free_energy, expected.free_energy, rtol=1e-5, atol=1e-3)
