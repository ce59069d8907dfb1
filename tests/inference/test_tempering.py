"""Parallel tempering against the exact distribution."""

import pytest
import torch
from torch.testing import assert_close

from conftest import MODELS, randomised, seeded
from crbm.inference import exact, tempering

ALL = ["crbm", "crf", "rbm"]


@pytest.mark.parametrize("model", ALL, indirect=True)
def test_swaps_leave_the_product_distribution_unchanged(model, u):
    """One swap, of every pair of states: flows between pairs balance exactly."""
    energy = model.condition(u[:1]).expand(1).detach()
    ladder = tempering.Ladder.of(energy, 3)
    states = exact.all_states(model.n_visible).double()[:, None]
    scores = [-level.free_energy(states)[:, 0] for level in ladder.energies]
    for low in (0, 1):
        warm, cold = scores[low].softmax(0), scores[low + 1].softmax(0)
        gap = ladder.gap(low, states)[:, 0]
        ratio = (gap[:, None] - gap).exp().clamp(max=1)  # [warm state, cold state]
        flow = warm[:, None] * cold * ratio
        assert_close(flow, flow.T)


@pytest.mark.parametrize("model", ALL, indirect=True)
def test_samples_have_the_exact_marginals(model, u):
    """4,000 chains: five standard errors are 5 * 0.5 / sqrt(4,000) = 0.04."""
    n_chains = 4000
    u = u[:1].expand(n_chains, -1)
    energy = model.condition(u).expand(n_chains).detach()
    start = torch.zeros(n_chains, model.n_visible).double()
    found = tempering.run(
        energy, start, n_steps=30, n_temperatures=5, generator=seeded()
    )
    expected = exact.marginals(model.condition(u[:1]).expand(1).detach()).v[0]
    assert_close(found.v.mean(0), expected, rtol=0, atol=0.04)
    assert ((found.swap_rate > 0) & (found.swap_rate <= 1)).all()


@pytest.mark.parametrize("clamped", [False, True], ids=["free", "clamped"])
@pytest.mark.parametrize("model", [*ALL, "crbm-no-uv"], indirect=True)
def test_log_partition_is_within_its_errors(model, u, known, clamped):
    energy = model.condition(u).expand(len(u)).detach()
    if clamped:
        energy = energy.clamp(known)
    estimate = tempering.log_partition(
        energy,
        n_chains=40,
        n_steps=30,
        n_warmup=20,
        n_temperatures=4,
        generator=seeded(1),
    )
    error = (estimate.value - exact.log_partition(energy)).abs()
    assert (error < 5 * estimate.standard_error + 1e-9).all()
    assert (estimate.standard_error < 0.1).all()


def test_the_acceptance_ratio_of_gaussian_gaps():
    """Gaps of variance s2 around r -+ s2 / 2 have the ratio r by Crooks' relation."""
    noise = torch.randn(20_000, generator=seeded()).double()
    found = tempering.log_ratio(noise * 2 + 1.0 - 2.0, noise * 2 + 1.0 + 2.0)
    # the bridge of two distributions that overlap well: s.e. below 0.02
    assert found.item() == pytest.approx(1.0, abs=0.08)


def test_one_temperature_is_not_parallel_tempering():
    energy = randomised(MODELS["rbm"]()).condition()
    with pytest.raises(ValueError, match="`n_temperatures` must be at least 2"):
        tempering.run(energy, torch.zeros(2, 5).double(), n_temperatures=1)
