"""Messages by compiled loops against torch's, in double precision."""

import pytest
import torch
from torch.testing import assert_close

from conftest import needs_numba
from crbm import kernels
from crbm.energies import BipartiteEnergy, PairwiseEnergy
from crbm.inference import loopy_bp
from crbm.kernels import beliefs


def pairs(n_units, scale, n_cases=33, seed=0):
    """An energy of coupled pairs in double precision, a third of them uncoupled."""
    generator = torch.Generator().manual_seed(seed)
    weight = scale * torch.randn(n_units, n_units, generator=generator).double()
    weight[torch.rand(n_units, n_units, generator=generator) < 0.33] = 0
    field = 2 * torch.randn(n_cases, n_units, generator=generator).double()
    return PairwiseEnergy(weight.triu(1) + weight.triu(1).T, field)


@needs_numba
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("n_cases", [16, 17, 33])
@pytest.mark.parametrize(("n_units", "scale"), [(8, 1e-3), (8, 1.0), (9, 20.0)])
def test_messages_are_those_of_torch(n_units, scale, n_cases, damping):
    exact = pairs(n_units, scale, n_cases)
    known = torch.full((n_cases, n_units), torch.nan)
    known[:, 0], known[0, 1] = 1, 0
    for energy in (exact, exact.clamp(known.double())):
        single = PairwiseEnergy(
            energy.weight.float(), energy.visible_bias.float()
        ).clamp(known if energy.known is not None else None)
        couplings = loopy_bp.Couplings.of(single.weight)
        assert beliefs.supports([single.start_logits()], couplings)
        expected = loopy_bp.run(energy, n_steps=7, damping=damping)
        found = loopy_bp.run(single, n_steps=7, damping=damping)
        assert_close(found.v.double(), expected.v, rtol=0, atol=3e-6)
        assert_close(found.delta.double(), expected.delta, rtol=0, atol=3e-6)
        joint, told = (
            loopy_bp.moments(each, n_steps=7, damping=damping).vv
            for each in (single, energy)
        )
        assert_close(joint.double(), told, rtol=0, atol=5e-6)


def sides(n_visible, n_hidden, scale, n_cases=33, seed=0):
    """An energy of two sides in double precision, a third of the pairs uncoupled."""
    generator = torch.Generator().manual_seed(seed)
    weight = scale * torch.randn(n_visible, n_hidden, generator=generator).double()
    weight[torch.rand(n_visible, n_hidden, generator=generator) < 0.33] = 0
    fields = (
        2 * torch.randn(n_cases, size, generator=generator).double()
        for size in (n_visible, n_hidden)
    )
    return BipartiteEnergy(weight, *fields)


@needs_numba
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("n_cases", [16, 17, 33])
@pytest.mark.parametrize(
    ("n_visible", "n_hidden", "scale"), [(8, 11, 1e-3), (11, 8, 1.0), (9, 9, 15.0)]
)
def test_messages_between_two_sides_are_those_of_torch(
    n_visible, n_hidden, scale, n_cases, damping
):
    exact = sides(n_visible, n_hidden, scale, n_cases)
    known = torch.full((n_cases, n_visible), torch.nan)
    known[:, 0], known[0, 1] = 1, 0
    for told in (None, known):
        parts = (exact.weight, exact.visible_bias, exact.hidden_bias)
        single = BipartiteEnergy(*(part.float() for part in parts)).clamp(told)
        couplings = loopy_bp.Couplings.of(single.weight)
        assert beliefs.supports([single.start_logits(), single.hidden_bias], couplings)
        expected = loopy_bp.run(
            exact.clamp(None if told is None else told.double()),
            n_steps=7,
            damping=damping,
        )
        found = loopy_bp.run(single, n_steps=7, damping=damping)
        assert_close(found.v.double(), expected.v, rtol=0, atol=3e-6)
        assert_close(found.delta.double(), expected.delta, rtol=0, atol=3e-6)


@needs_numba
def test_one_row_of_biases_serves_all_cases():
    exact = sides(8, 9, 1.0)
    single = BipartiteEnergy(
        exact.weight.float(), exact.visible_bias.float(), exact.hidden_bias[0].float()
    )
    found = loopy_bp.run(single, n_steps=5)
    with kernels.disabled():
        expected = loopy_bp.run(single, n_steps=5)
    assert_close(found.v, expected.v, rtol=0, atol=3e-6)


@needs_numba
def test_messages_of_all_sizes_keep_their_digits():
    sizes = torch.logspace(-6, 1.8, 80)
    for w in torch.cat([sizes, -sizes]).tolist():
        weight = torch.tensor([[0, w], [w, 0]])
        field = torch.linspace(-20, 20, 1001)[:, None].expand(-1, 2)
        _, messages, _ = beliefs.pairwise(
            field, loopy_bp.Couplings.of(weight), n_steps=1, damping=0.0
        )
        c = field[:, 0].double()
        zero = torch.zeros_like(c)
        on, off = (torch.logaddexp(x, zero) for x in (c + weight[0, 1].double(), c))
        expected = on - off
        assert_close(messages[:, 0, 1].double(), expected, rtol=0, atol=3e-7 * abs(w))


@needs_numba
def test_messages_of_what_needs_a_gradient_are_left_to_torch():
    energy = pairs(8, 1.0)
    weight = energy.weight.float().requires_grad_()
    field = energy.visible_bias.float()
    assert beliefs.supports([field], loopy_bp.Couplings.of(weight.detach()))
    assert not beliefs.supports([field], loopy_bp.Couplings.of(weight))
    loopy_bp.run(PairwiseEnergy(weight, field)).v.sum().backward()
    assert weight.grad.abs().sum() > 0
    energy = sides(8, 9, 1.0)
    hidden_bias = energy.hidden_bias.float().requires_grad_()
    parts = energy.weight.float(), energy.visible_bias.float(), hidden_bias
    loopy_bp.run(BipartiteEnergy(*parts)).v.sum().backward()
    assert hidden_bias.grad.abs().sum() > 0


@needs_numba
@pytest.mark.parametrize("part", ["weight", "visible_bias"])
def test_messages_do_not_hide_what_is_no_number(part):
    energy = pairs(8, 1.0)
    names = ("weight", "visible_bias")
    tensors = {name: getattr(energy, name).float() for name in names}
    tensors[part][0, 1] = tensors[part][1, 0] = torch.nan
    assert_same_not_numbers(PairwiseEnergy(**tensors))


@needs_numba
@pytest.mark.parametrize("part", ["weight", "visible_bias", "hidden_bias"])
def test_messages_between_two_sides_do_not_hide_it_either(part):
    energy = sides(8, 9, 1.0)
    names = ("weight", "visible_bias", "hidden_bias")
    tensors = {name: getattr(energy, name).float() for name in names}
    tensors[part][0, 1] = torch.nan
    assert_same_not_numbers(BipartiteEnergy(**tensors))


def assert_same_not_numbers(broken):
    with kernels.disabled():
        expected = loopy_bp.run(broken, n_steps=9)
    assert expected.v.isnan().any()
    for ours, theirs in zip(loopy_bp.run(broken, n_steps=9), expected, strict=True):
        assert torch.equal(ours.isnan(), theirs.isnan())


@needs_numba
@pytest.mark.parametrize("w", [40.0, 59.0, 61.0, 76.0, 80.0, -59.0, -80.0])
@pytest.mark.parametrize("known", [-120.0, 120.0, -torch.inf, torch.inf])
def test_strong_couplings_to_a_unit_that_is_sure(w, known):
    """On a tree, where messages are exact: the unit is off, or pulls by all of w."""
    field = torch.tensor([-30.0, 0.0, 30.0]).repeat(400)[:, None]
    sure = torch.full_like(field, known)
    expected = (field + (w if known > 0 else 0)).sigmoid()
    sides = BipartiteEnergy(torch.tensor([[w]]), field, sure)
    assert_close(
        loopy_bp.run(sides, n_steps=3, damping=0.0).v, expected, rtol=0, atol=1e-6
    )
    couplings = torch.tensor([[0.0, w], [w, 0.0]])
    pairs = PairwiseEnergy(couplings, torch.cat([field, sure], dim=1))
    found = loopy_bp.run(pairs, n_steps=3, damping=0.0).v[:, :1]
    assert_close(found, expected, rtol=0, atol=1e-6)
