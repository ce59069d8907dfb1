"""The gradient of a contrast: closed form, autograd and finite differences."""

import pytest
import torch
from torch.testing import assert_close

import oracles
from conftest import N_CASES
from crbm.models.base import EnergyModel
from crbm.types import Contrast, Moments, States


def total_free_energy(model, u, states):
    """The weighted sum of F over states, with its autograd graph."""
    v = states.v if states.ids is None else states.v[states.ids]
    energy = model.condition(u).expand(N_CASES)
    free = (energy if v.ndim == 2 else energy.with_state_axis()).free_energy(v)
    return (free if states.weight is None else free * states.weight).sum()


def by_autograd(model, u, contrast):
    gap = total_free_energy(model, u, contrast.positive) - total_free_energy(
        model, u, contrast.negative
    )
    named = dict(model.named_parameters())
    gradients = torch.autograd.grad(gap, list(named.values()), allow_unused=True)
    return {
        name: torch.zeros_like(p) if g is None else g
        for (name, p), g in zip(named.items(), gradients, strict=True)
    }


def by_pulling_back(model, u, contrast):
    into = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    EnergyModel.add_gradient(model, u, contrast, into=into)
    return into


def random_bits(*shape, seed=11):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=generator) < 0.5).double()


def contrasts(n_visible):
    """Every form in which states can be named."""
    generator = torch.Generator().manual_seed(5)

    def weights(*shape):
        return torch.rand(shape, generator=generator, dtype=torch.float64)

    single, other = (
        random_bits(N_CASES, n_visible),
        random_bits(N_CASES, n_visible, seed=1),
    )
    several = States(random_bits(N_CASES, 4, n_visible), weights(N_CASES, 4))
    table = States(
        random_bits(6, n_visible),
        weights(N_CASES, 4),
        ids=torch.tensor([[0, 1, 1, 5], [2, 3, 4, 0], [5, 5, 5, 5]]),
    )
    return {
        "pair": Contrast.pair(single, other),
        "weighted pair": Contrast.pair(single, other).weighted(weights(N_CASES)),
        "several": Contrast(States(single), several),
        "table": Contrast(States(single), table),
        "table against several": Contrast(table, several).weighted(weights(N_CASES)),
        "unweighted several": Contrast(
            States(single), States(random_bits(N_CASES, 2, n_visible))
        ),
    }


@pytest.mark.parametrize("name", contrasts(2))
def test_closed_form_equals_autograd(model, u, name):
    contrast = contrasts(model.n_visible)[name]
    expected = by_autograd(model, u, contrast)
    for found in (model.gradients(u, contrast), by_pulling_back(model, u, contrast)):
        assert found.keys() == expected.keys()
        for name, gradient in found.items():
            assert_close(gradient, expected[name], rtol=1e-10, atol=1e-10, msg=name)


def test_gradient_equals_finite_differences_of_the_oracle(model, u):
    contrast = contrasts(model.n_visible)["several"]
    v, negative = contrast.positive.v, contrast.negative

    def gap():
        total, w = 0.0, oracles.parameters(model)
        for case, row in enumerate(u.tolist()):
            total += oracles.free_energy(model, v[case].tolist(), row, w)
            for state, weight in zip(
                negative.v[case], negative.weight[case], strict=True
            ):
                total -= weight.item() * oracles.free_energy(
                    model, state.tolist(), row, w
                )
        return total

    expected = oracles.finite_difference(model, gap)
    for parameter, slope in model.gradients(u, contrast).items():
        if parameter == "weight_vv":  # diagonal couplings do not exist
            expected[parameter].fill_diagonal_(0)
        # central differences of step 1e-5 are good to about 1e-9
        assert_close(slope, expected[parameter], rtol=1e-7, atol=1e-8, msg=parameter)


def test_known_means_are_not_computed_again(model, u, v):
    energy = model.condition(u)
    plain = Contrast.pair(v, 1 - v)
    carried = Contrast.pair(energy.evaluate(v), energy.evaluate(1 - v))
    for parameter, slope in model.gradients(u, carried).items():
        assert_close(slope, model.gradients(u, plain)[parameter])
    if carried.positive.cache is not None:
        wrong = carried.positive.cache + 1
        changed = carried._replace(positive=carried.positive._replace(cache=wrong))
        slope = model.gradients(u, changed)["bias_h"]
        if slope.numel():
            assert not torch.allclose(slope, model.gradients(u, plain)["bias_h"])


def test_adding_a_negative_gradient_to_the_parameters_is_a_step_of_descent(model, u, v):
    contrast = Contrast.pair(v, 1 - v)
    slopes = model.gradients(u, contrast)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    with torch.no_grad():
        model.add_gradient(
            u, contrast, into=dict(model.named_parameters()), scale=-0.25
        )
    for name, parameter in model.named_parameters():
        assert_close(parameter.detach(), before[name] - 0.25 * slopes[name])


def test_moments_of_states_give_the_gradient_of_the_states(u):
    from conftest import MODELS, randomised

    model = randomised(MODELS["crf"]())
    contrast = contrasts(model.n_visible)["several"]
    v, weight = contrast.negative.v, contrast.negative.weight
    moments = Moments(
        torch.einsum("bs,bsi->bi", weight, v),
        torch.einsum("bs,bsi,bsj->bij", weight, v, v),
        torch.zeros(N_CASES).double(),
    )
    expected = model.gradients(u, contrast)
    found = model.gradients(u, contrast._replace(negative=moments))
    for name, slope in expected.items():
        assert_close(found[name], slope)


def test_moments_are_refused_where_they_do_not_suffice(model, u, v):
    if hasattr(model, "weight_vv"):
        pytest.skip("a CRF's gradient is made of moments")
    moments = Moments(v, torch.zeros(*v.shape, v.shape[1]).double(), v[:, 0])
    with pytest.raises(TypeError, match="objective names moments"):
        model.gradients(u, Contrast(States(v), moments))
