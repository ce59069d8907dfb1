"""Models with a network or shared weights: free energy, gradients, training."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import crbm
import oracles
from conftest import randomised, seeded
from crbm import objectives, training
from crbm.energies import BipartiteEnergy, Dense
from crbm.types import Batch, Contrast, States
from crbm.units import Bernoulli, Categorical, Gaussian

N_CASES, SIZE = 3, (3, 4)
UNITS = {
    "bernoulli": Bernoulli(),
    "categorical": Categorical(3),
    "gaussian": Gaussian(),
}


def normal(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=seeded(seed))


def network_model(units):
    network = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 6 + 3)).double()
    return randomised(crbm.NetworkCRBM(network, 6, 3, visible=units), 0.5)


def conv_model(units, network=None):
    return randomised(
        crbm.ConvCRBM(2, 2, 3, visible=units, network=network, dtype=torch.float64), 0.5
    )


def conv_network_model(units):
    return conv_model(units, nn.Conv2d(2, units.width + 2, 3, padding=1).double())


MODELS = {
    "network": network_model,
    "conv": conv_model,
    "conv with a network": conv_network_model,
}


@pytest.fixture(params=MODELS)
def kind(request):
    return request.param


@pytest.fixture(params=UNITS)
def units(request):
    return UNITS[request.param]


def inputs(kind, seed=1):
    return (
        normal(N_CASES, 4, seed=seed)
        if kind == "network"
        else normal(N_CASES, 2, *SIZE, seed=seed)
    )


def outputs(model, u, seed=2):
    """Random outputs in the shape that users pass."""
    energy = model.condition(u).detach()
    v = energy.visible.sample(torch.zeros_like(energy.visible_bias), seeded(seed))
    return v if u.ndim == 2 else model.unflatten_outputs(v, SIZE)


def test_gradients_equal_finite_differences(kind, units):
    model, u = MODELS[kind](units), inputs(kind)
    positive, negative = (
        model.flatten_outputs(outputs(model, u, seed)) for seed in (2, 3)
    )
    several = torch.stack([negative, positive.roll(1, 0)], 1)
    weight = torch.rand(N_CASES, 2, dtype=torch.float64, generator=seeded(4))
    contrast = Contrast(States(positive), States(several, weight))

    def gap():
        energy = model.condition(u)
        free = energy.free_energy(positive).sum()
        others = energy.with_state_axis().free_energy(several)
        return (free - (others * weight).sum()).item()

    expected = oracles.finite_difference(model, gap)
    found = model.gradients(u, contrast)
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        # central differences of step 1e-5 are good to about 1e-9
        assert_close(gradient, expected[name], rtol=1e-6, atol=1e-8, msg=name)


def test_conditioning_once_gives_the_same_gradient(kind, units):
    model, u = MODELS[kind](units), inputs(kind)
    v = model.flatten_outputs(outputs(model, u))
    contrast = Contrast.pair(v, v.roll(1, 0))
    into = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    model.add_gradient(u, contrast, into=into, energy=model.condition(u))
    for name, gradient in model.gradients(u, contrast).items():
        assert_close(into[name], gradient)


def test_a_convolution_is_a_dense_model_with_tied_weights(units):
    model, u = conv_model(units), inputs("conv")
    energy = model.condition(u)
    n_visible, n_hidden = energy.visible_bias.shape[1], energy.hidden_bias.shape[1]
    dense = energy.coupling.up(torch.eye(n_visible, dtype=torch.float64))
    assert dense.shape == (n_visible, n_hidden)
    twin = BipartiteEnergy(Dense(dense), energy.visible_bias, energy.hidden_bias, units)
    v = outputs(model, u)
    assert_close(model.free_energy(v, u), twin.free_energy(model.flatten_outputs(v)))


def test_the_same_weights_serve_images_of_any_size(units):
    model = conv_model(units)
    for size in ((1, 1), (2, 7), (9, 3)):
        u = normal(2, 2, *size)
        energy = model.condition(u).detach()
        v = energy.visible.sample(torch.zeros_like(energy.visible_bias), seeded())
        image = model.unflatten_outputs(v, size)
        assert image.shape[-2:] == size
        assert_close(model.flatten_outputs(image), v)
        assert model.free_energy(image, u).isfinite().all()


def test_a_window_of_one_pixel_treats_pixels_alike():
    """Without overlap the free energy of an image is the sum of its pixels'."""
    model = randomised(crbm.ConvCRBM(1, 3, 1, dtype=torch.float64))
    u, v = normal(2, 1, 4, 5), (normal(2, 4, 5, seed=1) > 0).double()
    pixels = model.free_energy(v.reshape(-1, 1, 1), u.reshape(-1, 1, 1, 1))
    assert_close(model.free_energy(v, u), pixels.view(2, -1).sum(1))


def test_a_linear_network_is_a_crbm():
    plain = randomised(crbm.CRBM(4, 5, 3, dtype=torch.float64))
    linear = nn.Linear(4, 8).double()
    model = crbm.NetworkCRBM(linear, 5, 3)
    with torch.no_grad():
        linear.weight.copy_(torch.cat([plain.weight_uv, plain.weight_uh], 1).T)
        linear.bias.copy_(torch.cat([plain.bias_v, plain.bias_h]))
        model.weight_vh.copy_(plain.weight_vh)
    u, v = normal(3, 4), (normal(3, 5, seed=1) > 0).double()
    assert_close(model.free_energy(v, u), plain.free_energy(v, u))
    histories = [
        training.fit(
            m,
            objectives.ExactLikelihood(),
            Batch(u, v),
            n_epochs=3,
            batch_size=2,
            l2=0.1,
            generator=seeded(1),
        )
        for m in (plain, model)
    ]
    assert_close(histories[1].loss, histories[0].loss)
    assert_close(model.weight_vh, plain.weight_vh)
    # L2 pulls weights and leaves biases alone, also those of nested modules
    assert_close(linear.bias, torch.cat([plain.bias_v, plain.bias_h]))
    assert_close(linear.weight, torch.cat([plain.weight_uv, plain.weight_uh], 1).T)


@pytest.mark.parametrize("optimizer", [None, torch.optim.Adam])
def test_a_network_learns_what_a_linear_model_cannot(optimizer):
    """The parity of two inputs, which no linear conditioner expresses."""
    generator = seeded(0)
    u = (torch.rand(400, 2, generator=generator) < 0.5).float()
    parity = (u.sum(1, keepdim=True) == 1).float()
    v = torch.cat([parity, 1 - parity], 1)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2 + 4))
    model = crbm.NetworkCRBM(network, 2, 4, generator)
    before = copy.deepcopy(network[0].weight)
    history = training.fit(
        model,
        objectives.ExactLikelihood(),
        Batch(u, v),
        n_epochs=60,
        batch_size=32,
        learning_rate=0.5 if optimizer is None else 0.03,
        optimizer=optimizer,
        generator=generator,
    )
    assert not torch.equal(before, network[0].weight)
    assert history.loss[-1] < 0.1  # a linear model stays at log 2 = 0.69


def test_convolutional_models_learn_images(units):
    """Outputs that copy the first input channel: the loss falls."""
    u = (torch.rand(64, 1, 5, 6, generator=seeded(0)) < 0.5).float()
    if units == Categorical(3):
        v = nn.functional.one_hot(u[:, 0].long() + 1, 3).permute(0, 3, 1, 2).float()
    else:
        v = u[:, 0]
    model = crbm.ConvCRBM(1, 2, 3, seeded(1), visible=units)
    error = training.PredictionError(Batch(u, v))
    before = error(model)
    training.fit(
        model,
        objectives.Perceptron(5),
        Batch(u, v),
        n_epochs=15,
        batch_size=8,
        learning_rate=0.005 if units == Gaussian() else 0.1,
        generator=seeded(2),
    )
    assert error(model) < 0.5 * before


def test_wrong_shapes_are_refused():
    network = nn.Linear(4, 7)
    with pytest.raises(
        ValueError, match=r"one bias per output and hidden unit.*\(2, 8\)"
    ):
        crbm.NetworkCRBM(network, 5, 3).condition(torch.zeros(2, 4))
    with pytest.raises(ValueError, match="must be odd"):
        crbm.ConvCRBM(1, 1, 4)
    model = crbm.ConvCRBM(3, 2, 3)
    with pytest.raises(ValueError, match=r"\(batch, 3, height, width\)"):
        model.condition(torch.zeros(2, 1, 4, 4))
    u = torch.zeros(2, 3, 4, 4)
    with pytest.raises(ValueError, match="to match `u`"):
        model.free_energy(torch.zeros(2, 5, 4), u)
    with pytest.raises(ValueError, match="to match `u`"):
        training.fit(model, objectives.Perceptron(), Batch(u, torch.zeros(2, 4, 5)))
    with pytest.raises(ValueError, match="needs images"):
        model.condition(None)
    with pytest.raises(ValueError, match="multiple of 3"):
        crbm.CRBM(2, 4, 3, visible=Categorical(3))
    bad = crbm.ConvCRBM(3, 2, 3, network=nn.Conv2d(3, 5, 3, padding=1))
    with pytest.raises(ValueError, match="one map per output"):
        bad.condition(u)


def test_models_print_their_sizes_and_are_called_as_free_energies():
    model = crbm.CRBM(3, 4, 5)
    assert repr(model) == "CRBM(n_inputs=3, n_visible=4, n_hidden=5)"
    u, v = torch.zeros(2, 3), torch.ones(2, 4)
    assert_close(model(v, u), model.free_energy(v, u))
    assert "Categorical(n_values=2)" in repr(crbm.CRBM(3, 4, 5, visible=Categorical(2)))


@pytest.mark.parametrize("device", ["meta"])
def test_the_core_runs_on_another_device(device, units):
    """No hidden `.numpy()` or CPU tensor on the way; `meta` computes shapes only."""
    model = crbm.CRBM(4, 6, 3, visible=units, device=device)
    u = torch.zeros(2, 4, device=device)
    biases = [
        crbm.models.crbm._conditioned_bias(b, u, w)
        for b, w in ((model.bias_v, model.weight_uv), (model.bias_h, model.weight_uh))
    ]
    energy = BipartiteEnergy(Dense(model.weight_vh), *biases, units).detach()
    h = energy.sample_hidden(torch.zeros(2, 6, device=device))
    v = energy.sample_visible(h)
    evaluated = energy.evaluate(v)
    assert v.device.type == evaluated.free_energy.device.type == device
    gradients = energy.field_gradients(Contrast.pair(evaluated, evaluated))
    assert {pair.gradient.device.type for pair in gradients} == {device}
