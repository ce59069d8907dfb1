"""The Gaussian CRBM against explicit mixtures of Gaussians, and against CRBM."""

import itertools

import pytest
import torch
from torch.distributions import MultivariateNormal
from torch.testing import assert_close

from conftest import seeded
from crbm.energies import BipartiteEnergy, Dense
from crbm.inference import exact
from crbm.models import GaussianCRBM
from crbm.units import Gaussian

COVARIANCE = torch.tensor([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 0.7]]).double()
U = torch.randn(4, 2, generator=seeded(1)).double()
R = torch.randn(4, 3, generator=seeded(2)).double()


SHAPES = {
    "full": {"full": True},
    "diagonal": {"full": False},
    "spreads": {"full": True, "n_spreads": 2},
}


@pytest.fixture(params=SHAPES)
def model(request):
    shape = SHAPES[request.param]
    model = GaussianCRBM(
        2, 3, 3, seeded(0), **shape, init_scale=0.7, dtype=torch.float64
    )
    model.start_noise(COVARIANCE)
    with torch.no_grad():
        model.weight_uh.mul_(50)
        model.bias_v.copy_(torch.tensor([0.3, -0.2, 0.1]))
        model.bias_h.copy_(torch.tensor([0.5, -0.4, 0.2]))
        if model.log_spread is not None:
            model.log_spread.copy_(torch.tensor([-0.6, 0.3]))
            model.weight_us.copy_(torch.tensor([[0.4, -0.8], [1.1, 0.2]]))
            model.bias_s.copy_(torch.tensor([0.1, -0.3]))
    return model


def components(model, u):
    """Weight and Gaussian of every hidden state, by loops over the energy."""
    noise = COVARIANCE if model.full else COVARIANCE.diagonal().diag()
    precision = torch.linalg.inv(noise)
    found = []
    for bits in itertools.product((0.0, 1.0), repeat=3):
        h = torch.tensor(bits).double()
        shift = model.weight_vh.detach() @ h
        field = (u @ model.weight_uh.detach() + model.bias_h.detach()) @ h
        log_weight = field + shift @ precision @ shift / 2
        found.append((log_weight, MultivariateNormal(model.bias_v + shift, noise)))
    weights = torch.stack([weight for weight, _ in found]).softmax(0)
    gaussians = [(w, g) for w, (_, g) in zip(weights, found, strict=True)]
    if model.log_spread is None:
        return gaussians
    chances = (u @ model.weight_us.detach() + model.bias_s.detach()).softmax(0)
    return [
        (w * chance, MultivariateNormal(g.mean, s**2 * noise))
        for w, g in gaussians
        for chance, s in zip(chances, model.log_spread.detach().exp(), strict=True)
    ]


def test_the_density_is_that_of_the_mixture(model):
    for u, r, found in zip(U, R, model.log_density(U, R), strict=True):
        parts = [w.log() + g.log_prob(r) for w, g in components(model, u)]
        assert_close(found, torch.stack(parts).logsumexp(0))


def test_it_is_a_crbm_with_unit_variance_in_whitened_outputs(model):
    if model.log_spread is not None:
        with torch.no_grad():  # s is always 1
            model.log_spread.zero_()
    root = model.root().detach()
    energy = BipartiteEnergy(
        Dense(torch.linalg.solve(root, model.weight_vh.detach())),
        torch.zeros(4, 3).double(),
        (U @ model.weight_uh + model.bias_h).detach(),
        Gaussian(),
    )
    x = torch.linalg.solve(root, (R - model.bias_v.detach()).T).T
    expected = exact.log_probability(energy, x) - root.diagonal().log().sum()
    assert_close(model.log_density(U, R).detach(), expected)


def test_missing_outputs_are_integrated_out(model):
    partly = R.clone()
    partly[0, 1] = partly[1, :2] = partly[2] = torch.nan
    found = model.log_density(U, partly)
    for u, r, value in zip(U, partly, found, strict=True):
        known = ~r.isnan()
        parts = [
            w.log()
            + MultivariateNormal(
                g.mean[known], g.covariance_matrix[known][:, known]
            ).log_prob(r[known])
            if known.any()
            else w.log()
            for w, g in components(model, u)
        ]
        assert_close(value, torch.stack(parts).logsumexp(0))


def test_moments_are_those_of_the_mixture(model):
    mixture = model.mixture(U, None)
    for case, u in enumerate(U):
        parts = components(model, u)
        mean = sum(w * g.mean for w, g in parts)
        second = sum(w * (g.covariance_matrix + g.mean.outer(g.mean)) for w, g in parts)
        assert_close(mixture.mean()[case], mean)
        assert_close(mixture.cov()[case], second - mean.outer(mean))


def test_known_outputs_condition_the_others(model):
    known = R.clone()
    known[:, 1] = torch.nan
    mixture = model.mixture(U, known)
    grid = torch.linspace(-12, 12, 4001).double()
    for case in range(2):
        states = R[case].repeat(len(grid), 1)
        states[:, 1] = grid
        inputs = U[case].expand(len(grid), -1)
        density = model.log_density(inputs, states).softmax(0)
        mean = density @ grid
        variance = density @ (grid - mean) ** 2
        # a fine grid
        assert_close(mixture.mean()[case, 1], mean, rtol=1e-6, atol=1e-6)
        assert_close(mixture.cov()[case, 1, 1], variance, rtol=1e-6, atol=1e-6)
        assert_close(mixture.mean()[case, [0, 2]], R[case, [0, 2]])
        assert_close(mixture.cov()[case, 0], torch.zeros(3).double())


def test_samples_have_the_moments(model):
    n_samples = 20_000
    mixture = model.mixture(U[:1].expand(n_samples, -1), None)
    drawn = mixture.sample(seeded(3)).detach()
    mean, cov = mixture.mean()[0].detach(), mixture.cov()[0].detach()
    error = (drawn.mean(0) - mean).abs() / (cov.diagonal() / n_samples).sqrt()
    assert error.max() < 4.5  # standard errors
    assert (drawn.T.cov() - cov).abs().max() < 0.15  # a few per cent of the largest


def test_the_gradient_is_that_of_finite_differences(model):
    names = [name for name, p in model.named_parameters() if p.numel()]

    def density(*values):
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(
            Density(model), {f"model.{k}": v for k, v in given.items()}, (U, R)
        )

    values = [dict(model.named_parameters())[name] for name in names]
    assert torch.autograd.gradcheck(density, values)


class Density(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, u, r):
        return self.model.log_density(u, r)


def test_many_hidden_units_are_refused():
    with pytest.raises(ValueError, match="must be at most 14"):
        GaussianCRBM(2, 3, 15)
