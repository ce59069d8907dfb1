"""The search of Section 6.2: the best visited state, the start not among them."""

import torch
from torch.testing import assert_close

import crbm
from conftest import MODELS, N_CASES, randomised
from crbm.inference import gibbs, mean_field, search


def test_gibbs_search_is_the_best_of_the_visited_states(model, u):
    energy = model.condition(u).expand(N_CASES)
    found = search.gibbs(energy, n_steps=6, generator=torch.Generator().manual_seed(3))
    generator = torch.Generator().manual_seed(3)
    v, visited = energy.start(generator), []
    for _ in range(6):
        v = gibbs.step(energy, v, generator).v
        visited.append(v)
    free = torch.stack([energy.free_energy(v) for v in visited])
    assert_close(found.free_energy, free.amin(0))
    best = free.argmin(0)
    for case in range(N_CASES):
        assert torch.equal(found.v[case], visited[best[case]][case])


def test_mean_field_search_is_the_best_of_the_visited_states(model, u):
    energy = model.condition(u).expand(N_CASES)
    found = search.mean_field(energy, n_steps=6)
    visited = list(mean_field.steps(energy, energy.start(), 6))
    free = torch.stack([energy.free_energy(v) for v in visited])
    assert_close(found.free_energy, free.amin(0))
    assert_close(found.free_energy, energy.free_energy(found.v))


def test_the_start_is_not_among_the_states_compared():
    """Independent units: half of all samples lie above the start, and are returned."""
    model = crbm.CRBM(1, 20, 0)
    with torch.no_grad():
        model.weight_uv.zero_()
        model.bias_v.fill_(1.0)
    energy = model.condition(torch.zeros(64, 1))
    generator = torch.Generator().manual_seed(0)
    found = search.gibbs(energy, n_steps=1, generator=generator)
    above = found.free_energy > energy.free_energy(energy.start())
    assert 16 < above.sum() < 48  # 32 expected, four standard deviations


def test_it_starts_at_the_logistic_regression_within_the_model(u):
    model = randomised(MODELS["crbm"]())
    expected = (model.bias_v + u @ model.weight_uv).sigmoid()
    assert_close(model.condition(u).start(torch.Generator()), expected)


def test_it_starts_at_fair_coins_without_input_to_output_connections(u):
    model = randomised(MODELS["crbm-no-uv"]())
    energy = model.condition(u[:1].expand(4000, -1))
    coins = energy.start(torch.Generator().manual_seed(0))
    assert set(coins.unique().tolist()) == {0.0, 1.0}
    # 20,000 coins: five standard deviations are 0.018
    assert abs(coins.mean().item() - 0.5) < 0.018
    assert (energy.start() == 0.5).all()  # at test time their mean, so that it repeats


def test_clamped_units_keep_their_value(model, u, known, generator):
    energy = model.condition(u).expand(N_CASES).clamp(known)
    fixed = ~known.isnan()
    for found in (
        search.gibbs(energy, n_steps=3, generator=generator),
        search.mean_field(energy, n_steps=3),
    ):
        assert_close(found.v[fixed], known[fixed])
    assert_close(energy.start(generator)[fixed], known[fixed])
