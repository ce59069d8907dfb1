"""Couplings against odds counted over all outputs."""

import math

import torch
from torch.testing import assert_close

import crbm
import oracles
from conftest import MODELS, randomised, seeded
from crbm.inference import couplings


def log_odds_ratio(model, u, v, i, k):
    """From the probabilities of the four states of a pair, the others as in v."""
    chance = {tuple(v): p for v, p in oracles.distribution(model, u)}
    total = 0.0
    for one, other, sign in ((1, 1, 1), (0, 0, 1), (1, 0, -1), (0, 1, -1)):
        state = list(v)
        state[i], state[k] = float(one), float(other)
        total += sign * math.log(chance[tuple(state)])
    return total


def test_they_are_the_log_odds_ratios_of_all_pairs(model, u, v):
    found = couplings.run(model.condition(u[:1]), v)
    n = model.n_visible
    for i in range(n):
        for k in range(n):
            expected = [
                log_odds_ratio(model, u[0].tolist(), state, i, k) if i != k else 0.0
                for state in v.tolist()
            ]
            assert math.isclose(found[i, k], sum(expected) / len(v), abs_tol=1e-9)


def test_those_of_a_crf_are_its_own(u):
    model = randomised(MODELS["crf"]())
    v = (torch.rand(7, model.n_visible, generator=seeded()) < 0.5).double()
    assert_close(couplings.run(model.condition(u[:1]), v), model.couplings().detach())


def test_labels_that_share_a_hidden_unit_attract():
    model = crbm.CRBM(1, 3, 1)
    with torch.no_grad():
        model.weight_vh.copy_(torch.tensor([[2.0], [2.0], [-2.0]]))
    found = couplings.run(model.condition(torch.zeros(1, 1)), torch.zeros(1, 3))
    assert found[0, 1] > 0.4
    assert found[0, 2] < -0.8
