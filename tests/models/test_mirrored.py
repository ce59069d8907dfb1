"""The mean of p(v | u) over an image and its mirror image."""

import math

import pytest
import torch
from torch import Generator
from torch.testing import assert_close

import crbm
from crbm.estimators.pixels import answers
from crbm.inference import exact
from crbm.units import BERNOULLI, Categorical


@pytest.fixture(
    params=[(BERNOULLI, 0), (BERNOULLI, 3), (Categorical(3), 0), (Categorical(3), 2)],
    ids=str,
)
def model(request):
    """A model whose weights are not symmetric."""
    visible, n_modes = request.param
    generator = Generator().manual_seed(0)
    made = crbm.ConvCRBM(
        2, 0, 3, generator, visible=visible, n_modes=n_modes, dtype=torch.float64
    )
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(generator=generator)
    return made


U = torch.randn(4, 2, 3, 5, dtype=torch.float64, generator=Generator().manual_seed(1))


def draw(model):
    """Outputs as images."""
    v = exact.sample(model.condition(U), 1, Generator().manual_seed(2))[0]
    return model.unflatten_outputs(v, (3, 5))


def log_p(energy, model, v):
    return answers.log_probability(energy, model.flatten_outputs(v))


@torch.no_grad()
def test_it_is_the_mean_of_both(model):
    v = draw(model)
    own = log_p(model.condition(U), model, v)
    mirrored = log_p(model.condition(U.flip(-1)), model, v.flip(-1))
    expected = torch.logaddexp(own, mirrored) - math.log(2)
    assert not torch.allclose(own, mirrored)
    assert_close(log_p(model.condition_mirrored(U), model, v), expected)


@torch.no_grad()
def test_the_mirror_image_has_the_mirrored_answer(model):
    p = answers.marginals(model.condition_mirrored(U))
    other = answers.marginals(model.condition_mirrored(U.flip(-1)))
    as_images = model.unflatten_outputs(other, (3, 5)).flip(-1)
    assert_close(p, model.flatten_outputs(as_images))


@torch.no_grad()
def test_marginals_given_known_pixels_follow_from_both(model):
    """Each view counts by how well it predicts the known pixels."""
    known = draw(model)
    known[..., 1:, :] = math.nan
    energies = model.condition(U), model.condition(U.flip(-1))
    knowns = known, known.flip(-1)
    weight = torch.stack(
        [log_p(e, model, k) for e, k in zip(energies, knowns, strict=True)]
    ).softmax(0)
    means = [
        answers.marginals(e.clamp(model.flatten_outputs(k)))
        for e, k in zip(energies, knowns, strict=True)
    ]
    other = model.unflatten_outputs(means[1], (3, 5)).flip(-1)
    expected = weight[0, :, None] * means[0]
    expected += weight[1, :, None] * model.flatten_outputs(other)
    clamped = model.condition_mirrored(U).clamp(model.flatten_outputs(known))
    assert_close(answers.marginals(clamped), expected)


def test_maps_of_hidden_units_are_refused():
    model = crbm.ConvCRBM(2, 1, 3, dtype=torch.float64)
    with pytest.raises(ValueError, match="only without maps of hidden units; got 1"):
        model.condition_mirrored(U)
