"""Compiled belief propagation against torch in double precision."""

import pytest
import torch
from torch.testing import assert_close

from conftest import needs_numba
from crbm import kernels
from crbm.energies import BipartiteEnergy, Dense, PairwiseEnergy
from crbm.inference import loopy_bp
from crbm.kernels import beliefs


def pairwise_energy(n_units, scale, n_cases=33, seed=0):
    """A random energy in double precision, a third of the pairs uncoupled."""
    generator = torch.Generator().manual_seed(seed)
    weight = scale * torch.randn(n_units, n_units, generator=generator).double()
    weight[torch.rand(n_units, n_units, generator=generator) < 0.33] = 0
    field = 2 * torch.randn(n_cases, n_units, generator=generator).double()
    return PairwiseEnergy(weight.triu(1) + weight.triu(1).T, field)


def bipartite_energy(n_visible, n_hidden, scale, n_cases=33, seed=0):
    """A random energy in double precision, a third of the pairs uncoupled."""
    generator = torch.Generator().manual_seed(seed)
    weight = scale * torch.randn(n_visible, n_hidden, generator=generator).double()
    weight[torch.rand(n_visible, n_hidden, generator=generator) < 0.33] = 0
    fields = (
        2 * torch.randn(n_cases, size, generator=generator).double()
        for size in (n_visible, n_hidden)
    )
    return BipartiteEnergy(Dense(weight), *fields)


def start_field(energy):
    """The field of the visible units before the first message."""
    return energy.clamp_logits(energy.independent_field())


def assert_same_run(single, double, damping):
    """Check that the beliefs of an energy agree in both precisions."""
    expected = loopy_bp.run(double, n_steps=7, damping=damping)
    found = loopy_bp.run(single, n_steps=7, damping=damping)
    assert_close(found.v.double(), expected.v, rtol=0, atol=3e-6)
    assert_close(found.delta.double(), expected.delta, rtol=0, atol=3e-6)


@needs_numba
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("n_cases", [16, 17, 33])
@pytest.mark.parametrize(("n_units", "scale"), [(8, 1e-3), (8, 1.0), (9, 20.0)])
def test_pairwise_messages_equal_those_of_torch(n_units, scale, n_cases, damping):
    exact = pairwise_energy(n_units, scale, n_cases)
    known = torch.full((n_cases, n_units), torch.nan)
    known[:, 0], known[0, 1] = 1, 0
    for energy in (exact, exact.clamp(known.double())):
        single = PairwiseEnergy(
            energy.weight.float(), energy.visible_bias.float()
        ).clamp(known if energy.known is not None else None)
        couplings = loopy_bp.Couplings.of(single.weight)
        assert beliefs.supports([start_field(single)], couplings)
        assert_same_run(single, energy, damping)
        found, expected = (
            loopy_bp.moments(each, n_steps=7, damping=damping).vv
            for each in (single, energy)
        )
        assert_close(found.double(), expected, rtol=0, atol=5e-6)


@needs_numba
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("n_cases", [16, 17, 33])
@pytest.mark.parametrize(
    ("n_visible", "n_hidden", "scale"), [(8, 11, 1e-3), (11, 8, 1.0), (9, 9, 15.0)]
)
def test_bipartite_messages_equal_those_of_torch(
    n_visible, n_hidden, scale, n_cases, damping
):
    exact = bipartite_energy(n_visible, n_hidden, scale, n_cases)
    known = torch.full((n_cases, n_visible), torch.nan)
    known[:, 0], known[0, 1] = 1, 0
    biases = exact.visible_bias.float(), exact.hidden_bias.float()
    for labels in (None, known):
        single = BipartiteEnergy(Dense(exact.weight.float()), *biases).clamp(labels)
        couplings = loopy_bp.Couplings.of(single.weight)
        assert beliefs.supports([start_field(single), single.hidden_bias], couplings)
        double = exact.clamp(None if labels is None else labels.double())
        assert_same_run(single, double, damping)


@needs_numba
def test_all_cases_can_share_one_row_of_biases():
    exact = bipartite_energy(8, 9, 1.0)
    single = BipartiteEnergy(
        Dense(exact.weight.float()),
        exact.visible_bias.float(),
        exact.hidden_bias[0].float(),
    )
    found = loopy_bp.run(single, n_steps=5)
    with kernels.disabled():
        expected = loopy_bp.run(single, n_steps=5)
    assert_close(found.v, expected.v, rtol=0, atol=3e-6)


@needs_numba
def test_messages_of_all_magnitudes_are_accurate():
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
def test_tensors_that_require_gradients_go_to_torch():
    energy = pairwise_energy(8, 1.0)
    weight = energy.weight.float().requires_grad_()
    field = energy.visible_bias.float()
    assert beliefs.supports([field], loopy_bp.Couplings.of(weight.detach()))
    assert not beliefs.supports([field], loopy_bp.Couplings.of(weight))
    loopy_bp.run(PairwiseEnergy(weight, field)).v.sum().backward()
    assert weight.grad.abs().sum() > 0
    energy = bipartite_energy(8, 9, 1.0)
    hidden_bias = energy.hidden_bias.float().requires_grad_()
    parts = Dense(energy.weight.float()), energy.visible_bias.float(), hidden_bias
    loopy_bp.run(BipartiteEnergy(*parts)).v.sum().backward()
    assert hidden_bias.grad.abs().sum() > 0


@needs_numba
@pytest.mark.parametrize("part", ["weight", "visible_bias"])
def test_pairwise_messages_keep_nan(part):
    energy = pairwise_energy(8, 1.0)
    names = ("weight", "visible_bias")
    tensors = {name: getattr(energy, name).float() for name in names}
    tensors[part][0, 1] = tensors[part][1, 0] = torch.nan
    assert_same_nan(PairwiseEnergy(**tensors))


@needs_numba
@pytest.mark.parametrize("part", ["weight", "visible_bias", "hidden_bias"])
def test_bipartite_messages_keep_nan(part):
    energy = bipartite_energy(8, 9, 1.0)
    names = ("weight", "visible_bias", "hidden_bias")
    tensors = {name: getattr(energy, name).float() for name in names}
    tensors[part][0, 1] = torch.nan
    coupling = Dense(tensors.pop("weight"))
    assert_same_nan(BipartiteEnergy(coupling, **tensors))


def assert_same_nan(energy):
    """Check that beliefs are NaN exactly where those of torch are."""
    with kernels.disabled():
        expected = loopy_bp.run(energy, n_steps=9)
    assert expected.v.isnan().any()
    for one, other in zip(loopy_bp.run(energy, n_steps=9), expected, strict=True):
        assert torch.equal(one.isnan(), other.isnan())


@needs_numba
@pytest.mark.parametrize("w", [40.0, 59.0, 61.0, 76.0, 80.0, -59.0, -80.0])
@pytest.mark.parametrize("log_odds", [-120.0, 120.0, -torch.inf, torch.inf])
def test_strong_couplings_to_a_certain_unit(w, log_odds):
    """BP is exact on a tree: a unit that is on adds w, one that is off adds 0."""
    field = torch.tensor([-30.0, 0.0, 30.0]).repeat(400)[:, None]
    certain = torch.full_like(field, log_odds)
    expected = (field + (w if log_odds > 0 else 0)).sigmoid()
    bipartite = BipartiteEnergy(Dense(torch.tensor([[w]])), field, certain)
    found = loopy_bp.run(bipartite, n_steps=3, damping=0.0).v
    assert_close(found, expected, rtol=0, atol=1e-6)
    couplings = torch.tensor([[0.0, w], [w, 0.0]])
    pairwise = PairwiseEnergy(couplings, torch.cat([field, certain], dim=1))
    found = loopy_bp.run(pairwise, n_steps=3, damping=0.0).v[:, :1]
    assert_close(found, expected, rtol=0, atol=1e-6)
