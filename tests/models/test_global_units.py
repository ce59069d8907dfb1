"""ConvCRBM with a hidden unit of the image: exact answers against enumeration."""

import itertools
import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import crbm
from conftest import seeded
from crbm import objectives
from crbm.energies import is_bipartite
from crbm.inference import enumeration, exact, gibbs
from crbm.types import Batch
from crbm.units import Bernoulli, Categorical

SIZE, N_MODES = (2, 3), 3
UNITS = {"bernoulli": Bernoulli(), "categorical": Categorical(3)}


class Maps(nn.Module):
    """Fixed maps for every image, which training can change."""

    def __init__(self, n_maps):
        super().__init__()
        shape = (2, n_maps, *SIZE)
        drawn = torch.randn(shape, dtype=torch.float64, generator=seeded(0))
        self.maps = nn.Parameter(drawn)

    def forward(self, u):
        return self.maps[: len(u)]


@pytest.fixture(params=UNITS)
def model(request):
    units = UNITS[request.param]
    network = Maps(units.width * (1 + N_MODES) + N_MODES)
    return crbm.ConvCRBM(1, 0, visible=units, network=network, n_modes=N_MODES)


@pytest.fixture
def u():
    return torch.zeros(2, 1, *SIZE, dtype=torch.float64)


def one_hots(width):
    """The values of a pixel as vectors."""
    if width == 1:
        return [[0.0], [1.0]]
    return [[float(i == k) for i in range(width)] for k in range(width)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def oracle(model, case):
    """All outputs as flat vectors, and their probabilities, by definition.

    A mixture: p(h) is a softmax of the means of the maps, and given h the pixels are
    independent with the field b + W_h.
    """
    width = model.visible.width
    maps = model.network.maps[case].flatten(1).T.tolist()  # (pixels, maps)
    start = width + N_MODES
    odds = [math.exp(sum(r[width + m] for r in maps) / len(maps)) for m in range(3)]
    outputs = list(itertools.product(range(len(one_hots(width))), repeat=len(maps)))
    p = []
    for values in outputs:
        mass = 0.0
        for mode in range(N_MODES):
            product = odds[mode] / sum(odds)
            for row, value in zip(maps, values, strict=True):
                field = [row[k] + row[start + k * N_MODES + mode] for k in range(width)]
                masses = [math.exp(dot(state, field)) for state in one_hots(width)]
                product *= masses[value] / sum(masses)
            mass += product
        p.append(mass)
    flat = [[x for value in v for x in one_hots(width)[value]] for v in outputs]
    kind = torch.float64
    return torch.tensor(flat, dtype=kind), torch.tensor(p, dtype=kind)


def test_probabilities_are_those_of_the_definition(model, u):
    energy = model.condition(u)
    for case in range(2):
        outputs, p = oracle(model, case)
        alone = model.condition(u).with_state_axis()
        log_p = -alone.free_energy(outputs)[case] - exact.log_partition(energy)[case]
        assert_close(log_p.exp(), p)
        assert_close(exact.marginals(energy).v[case], p @ outputs)


def test_known_pixels_condition_the_distribution(model, u):
    outputs, p = oracle(model, 0)
    width = model.visible.width
    known = torch.full((2, outputs.shape[1]), torch.nan, dtype=torch.float64)
    known[:, :width] = outputs[-1, :width]
    agrees = (outputs[:, :width] == known[0, :width]).all(1)
    expected = (p * agrees) @ outputs / p[agrees].sum()
    assert_close(exact.marginals(model.condition(u).clamp(known)).v[0], expected)


def test_the_likelihood_has_the_gradient_of_the_enumerated_one(model, u):
    v = torch.stack([oracle(model, case)[0][5 + case] for case in range(2)])
    for missing in (False, True):
        if missing:
            v = v.clone()
            v[:, : model.visible.width] = torch.nan
        energy = model.condition(u)
        contrast = objectives.ExactLikelihood()(energy.detach(), Batch(u, v))
        log_z = exact.log_partition(energy.clamp(v)) - exact.log_partition(energy)
        assert_close(contrast.loss, -log_z.detach())
        (expected,) = torch.autograd.grad(-log_z.sum(), model.network.maps)
        assert_close(model.gradients(u, contrast)["network.maps"], expected)


def test_samples_follow_the_distribution(model, u):
    outputs, p = oracle(model, 1)
    drawn = exact.sample(model.condition(u), 4000, seeded(1))[:, 1]
    places = (drawn[:, None] == outputs).all(-1).float().argmax(1)
    counts = torch.bincount(places, minlength=len(p)).double()
    often = p * 4000 > 5
    expected = torch.cat([p[often], p[~often].sum()[None]]) * 4000
    seen = torch.cat([counts[often], counts[~often].sum()[None]])
    chi2 = ((seen - expected) ** 2 / expected.clamp(min=1e-9)).sum()
    n = len(expected)  # the 99.9 % point of chi-square is below n + 4.5 sqrt(2 n)
    assert chi2 < n + 4.5 * math.sqrt(2 * n)


def test_gibbs_and_annealing_accept_weights_per_case(model, u):
    energy = model.condition(u).detach()
    estimate = crbm.inference.annealing.log_partition(
        energy, n_chains=200, n_steps=100, generator=seeded(0)
    )
    error = (estimate.value - exact.log_partition(energy)).abs()
    assert (error < 5 * estimate.standard_error + 1e-3).all()
    start = exact.sample(energy, 2000, seeded(2))
    ends = gibbs.run(energy, start, n_steps=3, generator=seeded(3)).v
    # 2,000 samples: a standard error of at most 0.012
    assert (ends.mean(0) - exact.marginals(energy).v).abs().max() < 0.05


def test_the_mode_given_hidden_states_is_the_best_of_them(model, u):
    energy = model.condition(u)
    assert is_bipartite(energy)
    found = enumeration.mode_given_hidden(energy)
    assert_close(found.free_energy, energy.free_energy(found.v))
    states = enumeration.layer_states(energy.hidden, N_MODES, like=found.v)
    for h in states:
        v = energy.visible.round(energy.visible_mean(h.expand(2, -1)))
        assert (energy.free_energy(v) >= found.free_energy - 1e-12).all()


def test_candidates_work_with_weights_per_case(model, u):
    outputs, p = oracle(model, 0)
    table = outputs[:4]
    expected = p[:4] / p[:4].sum()
    weight = exact.distribution(model.condition(u), candidates=table).weight
    assert_close(weight[0], expected)
    batch = Batch(u, outputs[[1, 2]], candidates=table)
    contrast = objectives.CandidateLikelihood()(model.condition(u).detach(), batch)
    assert_close(contrast.loss[0], -expected[1].log())
    assert model.gradients(u, contrast)["network.maps"].isfinite().all()


def test_hidden_units_are_of_one_kind():
    with pytest.raises(ValueError, match="either maps or one unit"):
        crbm.ConvCRBM(1, 2, n_modes=3)


def test_without_hidden_units_pixels_are_independent():
    model = crbm.ConvCRBM(1, 0)
    energy = model.condition(torch.ones(2, 1, 3, 4))
    assert energy.is_independent
    assert energy.n_visible == 12
