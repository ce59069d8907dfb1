"""One update by the library and by plain code, from the same random bits."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch.testing import assert_close

import crbm
from conftest import randomised, seeded
from crbm import kernels, objectives
from crbm.kernels import products
from crbm.training.update import make_update
from crbm.types import Batch

RATE = 0.5
# (cases, inputs, outputs, hidden units): bits of the generator itself, and of a stream
FEW, MANY, WIDE = (6, 3, 7, 5), (64, 9, 258, 31), (128, 80, 160, 70)
# how many generators a stream has, for each size, with the loops and without
WAYS = {"few": (FEW, 0, nullcontext), "torch": (MANY, 1, kernels.disabled)}
if kernels.available():
    WAYS["loops"] = (MANY, 64, nullcontext)
    WAYS["zeros skipped"] = (WIDE, 64, nullcontext)


class Coins:
    """Samples by the book: four of 16 bits per word, the lowest bits first."""

    def __init__(self, generator, n_lanes):
        self.words = self.from_torch(generator)
        if n_lanes:
            self.words = in_turns(np.reshape(self.words(3 * n_lanes), (3, n_lanes)).T)

    @staticmethod
    def from_torch(generator):
        def words(n):
            drawn = torch.empty(n, dtype=torch.int64)
            return drawn.random_(-(2**63), None, generator=generator).tolist()

        return words

    def draw(self, p):
        words = self.words(-(-p.size // 4))
        parts = [
            (word >> shift) & 0xFFFF for word in words for shift in (0, 16, 32, 48)
        ]
        signed = np.array([x - 0x10000 if x >= 0x8000 else x for x in parts[: p.size]])
        uniform = (signed + 0x8000 + 0.5) / 0x10000  # the middle of a step
        return (uniform.reshape(p.shape) < p).astype(float)


def sfc64(seed):
    """Chris Doty-Humphrey's small fast counting generator, in whole numbers."""
    mask = 2**64 - 1
    a, b, c, counter = (*(word & mask for word in seed), 1)

    def one():
        nonlocal a, b, c, counter
        result = (a + b + counter) & mask
        counter += 1
        a = b ^ (b >> 11)
        b = (c + (c << 3)) & mask
        c = ((((c << 24) & mask) | (c >> 40)) + result) & mask
        return result

    for _ in range(12):
        one()
    return one


def in_turns(seeds):
    """Words of a generator for each seed, beginning with the first at each draw."""
    lanes = [sfc64(seed) for seed in seeds.tolist()]
    return lambda n: [lanes[place % len(lanes)]() for place in range(n)]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def free_energy(w, v, u):
    hidden = w["bias_h"] + u @ w["weight_uh"] + v @ w["weight_vh"]
    visible = w["bias_v"] + u @ w["weight_uv"]
    return -(v * visible).sum(1) - np.log1p(np.exp(hidden)).sum(1)


def chain(w, v, u, n_steps, coins):
    """All states of a Gibbs chain after v."""
    states = []
    for _ in range(n_steps):
        h = coins.draw(sigmoid(w["bias_h"] + u @ w["weight_uh"] + v @ w["weight_vh"]))
        v = coins.draw(sigmoid(w["bias_v"] + u @ w["weight_uv"] + h @ w["weight_vh"].T))
        states.append(v)
    return states


def negative(rule, w, v, u, coins):
    if isinstance(rule, objectives.ContrastiveDivergence):
        return chain(w, v, u, rule.n_steps, coins)[-1]
    start = sigmoid(w["bias_v"] + u @ w["weight_uv"])
    visited = np.array(chain(w, start, u, rule.n_steps, coins))
    free = np.array([free_energy(w, state, u) for state in visited])
    return visited[free.argmin(0), np.arange(len(u))]


def updated(w, v, v_negative, u):
    """The weights after one step of SGD on the mean of F(v) - F(v')."""
    after = {name: value.copy() for name, value in w.items()}
    for states, sign in ((v, 1), (v_negative, -1)):
        h = sigmoid(w["bias_h"] + u @ w["weight_uh"] + states @ w["weight_vh"])
        step = sign * RATE / len(u)
        after["weight_vh"] += step * states.T @ h
        after["weight_uv"] += step * u.T @ states
        after["weight_uh"] += step * u.T @ h
        after["bias_v"] += step * states.sum(0)
        after["bias_h"] += step * h.sum(0)
    return after


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "rule",
    [
        objectives.ContrastiveDivergence(1),
        objectives.ContrastiveDivergence(4),
        objectives.Perceptron(4),
    ],
    ids=["CD-1", "CD-4", "CD-PercLoss-4"],
)
def test_an_update_equals_the_plain_one(rule, way):
    (n_cases, n_inputs, n_visible, n_hidden), n_lanes, switched = WAYS[way]
    model = randomised(crbm.CRBM(n_inputs, n_visible, n_hidden), scale=0.3)
    u = torch.randn(n_cases, n_inputs, generator=seeded(2))
    v = torch.rand(n_cases, n_visible, generator=seeded(3)).round()
    if way == "zeros skipped":
        u, v = (x * (torch.rand(x.shape, generator=seeded(4)) < 0.2) for x in (u, v))
        for x, weight in ((u, model.weight_uv), (v, model.weight_vh)):
            assert products._mostly_zeros(x, weight.detach())
    before = {
        k: p.detach().double().numpy().copy() for k, p in model.named_parameters()
    }

    with torch.no_grad(), switched():
        contrast = rule(model.condition(u), Batch(u, v), seeded(5))
        make_update(model, None, RATE, 0.0)(u, contrast, 1 / n_cases)

    plain_u, plain_v = u.double().numpy(), v.double().numpy()
    coins = Coins(seeded(5), n_lanes)
    v_negative = negative(rule, before, plain_v, plain_u, coins)
    assert np.array_equal(contrast.negative.v.numpy(), v_negative)
    expected = updated(before, plain_v, v_negative, plain_u)
    for name, parameter in model.named_parameters():
        # float32 against float64, sums of up to 258 terms
        found = parameter.detach().numpy()
        assert_allclose(found, expected[name], rtol=1e-4, atol=2e-6, err_msg=name)


def rounded(model):
    """The model with its couplings rounded to bfloat16, in float32."""
    other = crbm.CRBM(model.n_inputs, model.n_visible, model.n_hidden)
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        other.weight_vh.copy_(model.weight_vh.bfloat16())
    return other


@pytest.fixture
def single():
    """One unit of each kind: products of one term, which bfloat16 holds exactly."""
    u = torch.randn(20_000, 2, generator=seeded(2))
    return randomised(crbm.CRBM(2, 1, 1), scale=2.0), Batch(u, torch.ones(20_000, 1))


@torch.no_grad()
def test_a_bf16_chain_is_that_of_rounded_couplings(single):
    model, batch = single
    coarse, full = (
        objectives.ContrastiveDivergence(3, precision=name) for name in ("bf16", "full")
    )
    found = coarse(model.condition(batch.u), batch, seeded(5))
    expected = full(rounded(model).condition(batch.u), batch, seeded(5))
    assert torch.equal(found.negative.v, expected.negative.v)


@torch.no_grad()
@pytest.mark.parametrize(
    "rule", [objectives.ContrastiveDivergence, objectives.Perceptron]
)
def test_a_bf16_chain_leaves_free_energies_and_gradients_full(rule, single):
    model, batch = single
    found = rule(3, precision="bf16")(model.condition(batch.u), batch, seeded(5))
    states = model.condition(batch.u).evaluate(found.negative.v)
    assert torch.equal(found.negative.cache, states.cache)
    gap = model.free_energy(batch.v, batch.u) - states.free_energy
    assert_close(found.loss, gap)


def test_other_precisions_are_refused():
    with pytest.raises(ValueError, match="`precision` must be one of 'full', 'bf16'"):
        objectives.ContrastiveDivergence(precision="int8")
