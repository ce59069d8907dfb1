"""The likelihood of single outputs in `ExactLikelihood`, against enumeration."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import crbm
from conftest import seeded
from crbm.inference import exact
from crbm.objectives import ExactLikelihood
from crbm.types import Batch

SIZE, N_MODES, SHARE = (2, 3), 3, 0.7
U = torch.randn(4, 2, *SIZE, dtype=torch.float64, generator=seeded(1))


def conv_model(n_modes=N_MODES):
    network = nn.Conv2d(2, 1 + 2 * n_modes, 3, padding=1, dtype=torch.float64)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 1, generator=seeded(2))
    return crbm.ConvCRBM(2, 0, network=network, n_modes=n_modes)


def dense_model():
    model = crbm.CRBM(12, 6, 2, seeded(3), init_scale=1.0, dtype=torch.float64)
    return model


CASES = {"one unit of the image": (conv_model, U), "two": (dense_model, U.flatten(1))}


def enumerated_loss(model, u, v, share):
    """The mean of the joint and the single log losses by sums over all outputs."""
    states = exact.all_states(6).double()
    energy = model.condition(u)
    scores = torch.stack(
        [-energy.free_energy(state.expand(len(v), -1)) for state in states], 1
    )

    def log_p(known):
        agrees = ((known[:, None] == states) | known[:, None].isnan()).all(-1)
        some = scores.masked_fill(~agrees, -torch.inf).logsumexp(1)
        return some - scores.logsumexp(1)

    single = sum(
        log_p(torch.where(torch.arange(6) == place, v, torch.nan)) for place in range(6)
    )
    return -(log_p(v) + share * single) / (1 + share)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("missing", [False, True])
def test_its_loss_and_gradient_are_those_of_enumeration(case, missing):
    make, u = CASES[case]
    model = make()
    v = torch.bernoulli(
        torch.full((4, 6), 0.5, dtype=torch.float64), generator=seeded(4)
    )
    if missing:
        v[1, 2] = v[3, :4] = torch.nan
    expected = enumerated_loss(model, u, v, SHARE)
    slopes = torch.autograd.grad(expected.sum(), list(model.parameters()))
    contrast = ExactLikelihood(SHARE)(model.condition(u).detach(), Batch(u, v))
    found = model.gradients(u, contrast)
    assert_close(contrast.loss, expected.detach())
    for slope, gradient in zip(slopes, found.values(), strict=True):
        assert_close(gradient, slope)


def test_without_hidden_units_both_losses_are_one():
    model, v = conv_model(0), torch.ones(4, 6, dtype=torch.float64)
    energy = model.condition(U).detach()
    both = [ExactLikelihood(share)(energy, Batch(U, v)).loss for share in (0.0, 1.0)]
    assert_close(*both)


def test_many_hidden_states_are_refused():
    energy = crbm.CRBM(2, 3, 13).condition(torch.zeros(1, 2))
    with pytest.raises(ValueError, match="`marginals` needs a model with few hidden"):
        ExactLikelihood(1.0)(energy, Batch(torch.zeros(1, 2), torch.zeros(1, 3)))
