"""The gradient of a contrast: closed form, autograd and finite differences."""

import pytest
import torch
from torch.testing import assert_close

import oracles
from conftest import N_CASES
from crbm.models.base import EnergyModel
from crbm.types import Contrast, Moments, States


def by_autograd(model, u, contrast):
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
    closed, automatic = model.gradients(u, contrast), by_autograd(model, u, contrast)
    assert closed.keys() == automatic.keys()
    for parameter, slope in closed.items():
        assert_close(slope, automatic[parameter], rtol=1e-10, atol=1e-10, msg=parameter)


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
    if carried.positive.hidden_means is not None:
        wrong = carried.positive.hidden_means + 1
        changed = carried._replace(
            positive=carried.positive._replace(hidden_means=wrong)
        )
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
