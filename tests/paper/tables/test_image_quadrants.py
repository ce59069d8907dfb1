"""Completed digits: what is seen, and -log p against enumeration."""

import numpy as np
import pytest
import torch

import crbm
from conftest import seeded
from crbm.inference import exact, search
from crbm.types import Batch
from paper.tables import image_quadrants
from paper.tables.denoising import Digits, flip_pixels

PARAMETERS = {"n_epochs": 2, "batch_size": 4, "learning_rate": 0.01, "n_steps": 1}


@pytest.mark.parametrize(("n_visible", "n_seen"), [(1, 196), (2, 392), (3, 588)])
def test_the_pixels_are_split_by_quadrants(monkeypatch, n_visible, n_seen):
    image = torch.zeros(28, 28)
    image[14:, :14] = 1  # the first quadrant that is seen, and no other
    part = Batch(image.view(1, -1), image.view(1, -1))
    digits = Digits(part, part, part, flip_pixels)
    monkeypatch.setattr(image_quadrants, "load_digits", lambda kind, quick: digits)
    train, test = image_quadrants.load(n_visible, quick=False)
    assert train.u.shape == (1, n_seen)
    assert test.v.shape == (1, 784 - n_seen)
    assert test.u.sum() == 196
    assert test.v.sum() == 0


@pytest.mark.parametrize("n_hidden", [0, 3])
def test_the_log_likelihood_is_that_of_enumeration(n_hidden):
    network = image_quadrants.make_network(2, 4, n_hidden, 5, seeded(0))
    with torch.no_grad():
        network[-1].weight.normal_(0, 1, generator=seeded(1))
    model = crbm.NetworkCRBM(network, 4, n_hidden, seeded(2), init_scale=1.0)
    u = torch.randn(3, 2, generator=seeded(3))
    v = torch.bernoulli(torch.full((3, 4), 0.5), generator=seeded(4))
    energy = model.condition(u).detach()
    found, _ = image_quadrants.score(model, Batch(u, v), n_chains=200)
    expected = energy.free_energy(v) + exact.log_partition(energy)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=0.02)


def test_a_model_learns_which_outputs_go_together():
    v = (torch.rand(400, 1, generator=seeded(0)) < 0.5).float().expand(-1, 4)
    train = Batch(torch.zeros(400, 2), v.contiguous())
    config = {**PARAMETERS, "n_epochs": 30, "learning_rate": 0.05, "width": 3}
    losses = {}
    for n_hidden in (0, 2):
        config["n_hidden"] = n_hidden
        model, _ = image_quadrants.fit(train, {**config, "batch_size": 50}, seed=0)
        losses[n_hidden] = image_quadrants.measure(model, train).metrics["nll"]
    # log 2 for all four together, 4 log 2 apart
    assert losses[0] == pytest.approx(4 * np.log(2), abs=0.05)
    assert losses[2] < 2 * np.log(2)


def test_marginals_along_a_chain_are_the_exact_ones():
    model = crbm.CRBM(2, 6, 4, seeded(0))
    with torch.no_grad():
        model.weight_vh.mul_(150)  # from 0.01: couplings that mean field misjudges
        energy = model.condition(torch.eye(2))
        known = exact.marginals(energy).v
        rows = energy.expand(2)
        start = search.mean_field(rows, n_steps=10).v
        found = image_quadrants.sampled_marginals(rows, start, n_steps=20_000)
    assert (start - known).abs().max() > 0.05
    assert (found - known).abs().max() < 0.02
