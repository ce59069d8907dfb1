"""Mean field: a bound that rises, and the exact answer where units are independent."""

import itertools

import torch
from torch.testing import assert_close

import oracles
from conftest import MODELS, N_CASES, randomised
from crbm.inference import exact, mean_field


def test_it_bounds_log_z_from_below(model, u, known):
    for clamps in (None, known):
        energy = model.condition(u).expand(N_CASES).clamp(clamps)
        marginals = mean_field.run(energy, n_steps=50).v
        bound = mean_field.log_partition_bound(energy, marginals)
        log_z = exact.log_partition(energy)
        assert (bound <= log_z + 1e-9).all()
        # any other means give a lower bound too, and mostly a looser one
        blind = torch.full_like(marginals, 0.5)
        if clamps is not None:
            blind = torch.where(clamps.isnan(), blind, clamps)
        assert (mean_field.log_partition_bound(energy, blind) <= bound + 1e-9).all()


def test_every_step_raises_the_bound(model, u):
    energy = model.condition(u).expand(N_CASES)
    bounds = [
        mean_field.log_partition_bound(energy, v)
        for v in mean_field.steps(energy, energy.start(), 20)
    ]
    for before, after in itertools.pairwise(bounds):
        assert (after >= before - 1e-9).all()


def test_it_is_exact_for_independent_units(u):
    model = randomised(MODELS["logistic"]())
    found = mean_field.run(model.condition(u), n_steps=1)
    expected = [oracles.marginals(model, row) for row in u.tolist()]
    assert_close(found.v, torch.tensor(expected).double())


def test_delta_tells_how_far_the_last_step_moved(model, u):
    energy = model.condition(u).expand(N_CASES)
    shorter, longer = (mean_field.run(energy, n_steps=n) for n in (4, 5))
    assert_close(longer.delta, (longer.v - shorter.v).abs().amax(-1))
    assert (mean_field.run(energy, n_steps=2000).delta < 1e-6).all()


def test_clamped_units_keep_their_value(model, u, known):
    energy = model.condition(u).expand(N_CASES).clamp(known)
    fixed = ~known.isnan()
    assert_close(mean_field.run(energy, n_steps=7).v[fixed], known[fixed])
