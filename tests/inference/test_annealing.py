"""Annealed importance sampling against the enumerated log Z."""

import torch

from conftest import N_CASES
from crbm.inference import annealing, exact


def test_the_truth_lies_within_the_error_bar(model, u, known, generator):
    for clamps in (None, known):
        energy = model.condition(u).expand(N_CASES).clamp(clamps)
        found = annealing.log_partition(
            energy, n_chains=200, n_steps=60, generator=generator
        )
        error = (found.value - exact.log_partition(energy)).abs()
        # four standard errors: one false alarm in 16,000 for a fixed seed
        assert (error <= 4 * found.standard_error + 1e-9).all()
        assert (found.standard_error < 0.2).all()


def test_independent_units_need_no_annealing(u, generator):
    from conftest import MODELS, randomised

    energy = randomised(MODELS["logistic"]()).condition(u)
    found = annealing.log_partition(energy, n_chains=2, n_steps=1, generator=generator)
    torch.testing.assert_close(found.value, exact.log_partition(energy))
    assert (found.standard_error < 1e-9).all()
