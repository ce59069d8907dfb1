"""Pseudo-likelihood and ratio matching against brute force over single outputs."""

import math

import pytest
import torch
from torch.testing import assert_close

import crbm
import oracles
from conftest import MODELS, N_CASES, randomised, seeded
from crbm import objectives
from crbm.types import Batch
from crbm.units import Bernoulli, Categorical

LOOSE = {"rtol": 1e-6, "atol": 1e-8}  # central differences of step 1e-5


def pseudo(gaps):
    """-log p of a value, given how much lower F is at each other value."""
    return math.log1p(math.fsum(math.exp(gap) for gap in gaps))


def ratios(gaps):
    return math.fsum((1 / (1 + math.exp(-gap))) ** 2 for gap in gaps)


TERMS = {"pseudo": pseudo, "ratio": ratios}
RULES = {"pseudo": objectives.PseudoLikelihood, "ratio": objectives.RatioMatching}


def binary_loss(model, u, v, term):
    total, w = 0.0, oracles.parameters(model)
    for u_row, v_row in zip(u.tolist(), v.tolist(), strict=True):
        own = oracles.free_energy(model, v_row, u_row, w)
        for i in range(len(v_row)):
            flipped = [*v_row[:i], 1 - v_row[i], *v_row[i + 1 :]]
            total += term([own - oracles.free_energy(model, flipped, u_row, w)])
    return total


@pytest.mark.parametrize("rule", RULES)
def test_gradient_of_binary_outputs(model, u, v, rule):
    contrast = RULES[rule](n_blocks=None)(model.condition(u), Batch(u, v))
    assert contrast.loss.sum().item() == pytest.approx(
        binary_loss(model, u, v, TERMS[rule])
    )
    expected = oracles.finite_difference(
        model, lambda: binary_loss(model, u, v, TERMS[rule])
    )
    for name, found in model.gradients(u, contrast).items():
        slope = expected[name]
        if name == "weight_vv":
            slope = slope.clone().fill_diagonal_(0)
        assert_close(found, slope, msg=name, **LOOSE)


def differentiable_loss(model, u, v, rule, counted=None):
    """The loss by changing one unit at a time; autograd differentiates it."""
    values = model.visible.states(v)
    units = v.unflatten(-1, (-1, model.visible.width))
    own, total = model.condition(u).free_energy(v), v.new_zeros(())
    for i in range(units.shape[1]):
        gaps = []
        for value in values:
            changed = units.clone()
            changed[:, i] = value
            gap = own - model.condition(u).free_energy(changed.flatten(1))
            same = (units[:, i] == value).all(-1)
            gaps.append(gap.masked_fill(same, -torch.inf))
        gaps = torch.stack(gaps)
        if rule == "pseudo":
            each = torch.cat([torch.zeros_like(gaps[:1]), gaps]).logsumexp(0)
        else:
            each = gaps.sigmoid().square().sum(0)
        total = total + (each if counted is None else each * counted[:, i]).sum()
    return total


WIDE = {
    "categorical": lambda: crbm.CRBM(
        3, 6, 4, visible=Categorical(3), dtype=torch.float64
    ),
    "conv": lambda: crbm.ConvCRBM(2, 2, 3, dtype=torch.float64),
    "conv categorical": lambda: crbm.ConvCRBM(
        2, 2, 3, visible=Categorical(3), dtype=torch.float64
    ),
}


def wide_case(name):
    model = randomised(WIDE[name](), 0.7)
    is_conv = name.startswith("conv")
    shape = (2, 2, 5, 4) if is_conv else (2, 3)
    u = torch.randn(shape, dtype=torch.float64, generator=seeded(4))
    n_units = 20 if is_conv else 2
    zeros = torch.zeros(2, n_units * model.visible.width).double()
    return model, u, model.visible.sample(zeros, seeded(5))


@pytest.mark.parametrize("missing", [False, True], ids=["known", "missing"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", WIDE)
def test_gradient_of_other_outputs(name, rule, missing):
    model, u, v = wide_case(name)
    width = model.visible.width
    if missing:
        v[0, :width] = v[1, -width:] = torch.nan
    objective = RULES[rule](n_blocks=None)
    contrast = objective(model.condition(u), Batch(u, v), seeded(6))
    filled = contrast.positive.v
    counted = ~v.unflatten(-1, (-1, width))[..., 0].isnan()
    assert torch.equal(filled[~v.isnan()], v[~v.isnan()])
    loss = differentiable_loss(model, u, filled, rule, counted)
    assert_close(contrast.loss.sum(), loss)
    expected = torch.autograd.grad(loss, list(model.parameters()))
    found = model.gradients(u, contrast).values()
    for gradient, other in zip(found, expected, strict=True):
        assert_close(gradient, other)


@pytest.mark.parametrize("visible", [Bernoulli(), Categorical(3)], ids=str)
def test_single_blocks_of_pixels_average_to_all(visible, monkeypatch):
    model, u, v = wide_case("conv" if visible.width == 1 else "conv categorical")
    whole = objectives.PseudoLikelihood(n_blocks=None)(model.condition(u), Batch(u, v))
    expected = model.gradients(u, whole)
    total = {name: torch.zeros_like(each) for name, each in expected.items()}
    one = objectives.PseudoLikelihood(n_blocks=1)
    for block in range(9):
        monkeypatch.setattr(type(one), "_draw_blocks", lambda *_, b=block: [b])
        contrast = one(model.condition(u), Batch(u, v))
        model.add_gradient(u, contrast, into=total, scale=1 / 9)
    for name, gradient in expected.items():
        assert_close(total[name], gradient)


@pytest.mark.parametrize("rule", RULES)
def test_drawn_outputs_are_unbiased(rule, u):
    """2 of 5 outputs, 4,000 copies of each case: five standard errors are 0.2."""
    model, n_copies = randomised(MODELS["crbm"]()), 4000
    v = torch.tensor([[1.0, 0, 0, 1, 1], [0, 0, 1, 1, 0], [1, 1, 1, 0, 0]]).double()
    whole = RULES[rule](n_blocks=None)(model.condition(u), Batch(u, v))
    u_many, v_many = u.repeat(n_copies, 1), v.repeat(n_copies, 1)
    some = RULES[rule](n_blocks=2)
    contrast = some(model.condition(u_many), Batch(u_many, v_many), seeded())
    assert contrast.negative.v.shape == (N_CASES * n_copies, 2, 5)
    expected = model.gradients(u, whole)
    for name, gradient in model.gradients(u_many, contrast).items():
        assert_close(gradient / n_copies, expected[name], rtol=0, atol=0.2, msg=name)


def test_a_confident_mistake_counts_less_in_ratio_matching():
    model = MODELS["logistic"]()
    with torch.no_grad():
        model.weight_uv.zero_()
        model.bias_v.copy_(torch.tensor([1.0, 20.0, 0, 0, 0]))
    u, v = torch.zeros(1, 3).double(), torch.zeros(1, 5).double()
    contrast = objectives.RatioMatching()(model.condition(u), Batch(u, v))
    assert contrast.negative.weight[0, 1] < 1e-6 < contrast.negative.weight[0, 0]


@pytest.mark.parametrize("rule", RULES)
def test_number_of_blocks_is_checked(rule):
    with pytest.raises(ValueError, match="`n_blocks` must be at least 1"):
        RULES[rule](n_blocks=0)
