"""Bipartite energies of every kind of unit against sums written out in plain Python."""

import itertools
import math

import pytest
import torch
from torch.testing import assert_close

import oracles
from conftest import seeded
from crbm.energies import BipartiteEnergy, Dense
from crbm.inference import annealing, exact, gibbs, mean_field, search
from crbm.units import Bernoulli, Categorical, Gaussian

KINDS = {
    "bernoulli": (Bernoulli(), 4),
    "categorical": (Categorical(3), 6),
    "gaussian": (Gaussian(), 3),
}
DISCRETE = ("bernoulli", "categorical")
# Two layers of real numbers may have no finite sum.
PAIRS = [
    pair for pair in itertools.product(KINDS, KINDS) if pair != ("gaussian", "gaussian")
]


def states(name):
    """All states of a layer as lists of numbers."""
    _, size = KINDS[name]
    values = {"bernoulli": [[0.0], [1.0]], "categorical": torch.eye(3).tolist()}[name]
    repeat = size // len(values[0])
    return [
        list(itertools.chain(*row)) for row in itertools.product(values, repeat=repeat)
    ]


def build(visible, hidden, n_cases=2):
    """An energy with random weights."""
    (units_v, n_visible), (units_h, n_hidden) = KINDS[visible], KINDS[hidden]

    def normal(*shape, seed):
        return 0.5 * torch.randn(shape, dtype=torch.float64, generator=seeded(seed))

    return BipartiteEnergy(
        Dense(normal(n_visible, n_hidden, seed=1)),
        normal(n_cases, n_visible, seed=2),
        normal(n_cases, n_hidden, seed=3),
        units_v,
        units_h,
    )


def joint_energy(energy, case, v, h):
    """E(v, h) term by term."""
    w, b = energy.weight.tolist(), energy.visible_bias[case].tolist()
    c = energy.hidden_bias[case].tolist()
    total = -sum(x * y for x, y in zip(v, b, strict=True))
    total -= sum(x * y for x, y in zip(h, c, strict=True))
    total -= sum(v[i] * w[i][j] * h[j] for i in range(len(v)) for j in range(len(h)))
    for units, s in ((energy.visible, v), (energy.hidden, h)):
        if units == Gaussian():
            total += sum(x * x for x in s) / 2
    return total


def gaussian_terms(bias, rows, other):
    """Mean and log integral of a Gaussian layer for each state of the other one."""
    means = [
        [b + sum(x * w[i] for x, w in zip(s, rows, strict=True)) for i, b in bias]
        for s in other
    ]
    return means, [
        sum(m * m / 2 + math.log(2 * math.pi) / 2 for m in mean) for mean in means
    ]


def enumerate_exactly(energy, visible, hidden, case):
    """Log Z and the means of v, by a sum over the discrete layers."""
    w, b = energy.weight.tolist(), energy.visible_bias[case].tolist()
    c = energy.hidden_bias[case].tolist()
    if visible == "gaussian":
        others = states(hidden)
        means, logs = gaussian_terms(
            list(enumerate(b)), list(zip(*w, strict=True)), others
        )
        scores = [
            log + sum(x * y for x, y in zip(h, c, strict=True))
            for log, h in zip(logs, others, strict=True)
        ]
    elif hidden == "gaussian":
        others = means = states(visible)
        _, logs = gaussian_terms(list(enumerate(c)), w, others)
        scores = [
            log + sum(x * y for x, y in zip(v, b, strict=True))
            for log, v in zip(logs, others, strict=True)
        ]
    else:
        means, scores = [], []
        for v in states(visible):
            terms = [-joint_energy(energy, case, v, h) for h in states(hidden)]
            means.append(v)
            scores.append(oracles.log_sum_exp(terms))
    log_z = oracles.log_sum_exp(scores)
    shares = [math.exp(score - log_z) for score in scores]
    columns = zip(*means, strict=True)
    return log_z, [
        math.fsum(p * x for p, x in zip(shares, column, strict=True))
        for column in columns
    ]


@pytest.mark.parametrize(("visible", "hidden"), PAIRS)
def test_energy_and_free_energy(visible, hidden):
    energy = build(visible, hidden)
    v = energy.visible.sample(torch.zeros_like(energy.visible_bias), seeded(4))
    h = energy.hidden.sample(torch.zeros_like(energy.hidden_bias), seeded(5))
    expected = [
        joint_energy(energy, case, v[case].tolist(), h[case].tolist())
        for case in range(2)
    ]
    assert_close(energy.energy(v, h), torch.tensor(expected, dtype=torch.float64))
    if hidden in DISCRETE:
        summed = [
            -oracles.log_sum_exp(
                [-joint_energy(energy, c, v[c].tolist(), h) for h in states(hidden)]
            )
            for c in range(2)
        ]
        assert_close(energy.free_energy(v), torch.tensor(summed).double())


@pytest.mark.parametrize(("visible", "hidden"), PAIRS)
def test_exact_inference(visible, hidden):
    energy = build(visible, hidden)
    expected = [enumerate_exactly(energy, visible, hidden, case) for case in range(2)]
    log_z = torch.tensor([z for z, _ in expected], dtype=torch.float64)
    assert_close(exact.log_partition(energy), log_z)
    means = torch.tensor([mean for _, mean in expected], dtype=torch.float64)
    assert_close(exact.marginals(energy).v, means)
    assert (mean_field.log_partition_bound(energy, means) <= log_z + 1e-9).all()


@pytest.mark.parametrize(("visible", "hidden"), PAIRS)
def test_chains_reach_the_exact_means(visible, hidden):
    n_chains = 20_000
    energy = build(visible, hidden, n_cases=1)
    _, expected = enumerate_exactly(energy, visible, hidden, 0)
    many = energy.expand(1)
    start = many.start(seeded(1)).expand(n_chains, -1)
    v = gibbs.run(many, start, n_steps=40, generator=seeded(2)).v
    error = (v.mean(0) - torch.tensor(expected).double()).abs()
    # four standard errors of a mean of independent chains
    assert (error < 4 * v.std(0) / math.sqrt(n_chains) + 1e-3).all()


@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize(("visible", "hidden"), PAIRS)
def test_annealing_estimates_log_z(visible, hidden, clamped):
    energy = build(visible, hidden)
    if clamped:
        value = energy.visible.sample(torch.zeros_like(energy.visible_bias), seeded(8))
        known = torch.full_like(value, torch.nan)
        width = energy.visible.width
        known[:, :width] = value[:, :width]
        energy = energy.clamp(known)
    exactly = exact.log_partition(energy)
    found = annealing.log_partition(
        energy, n_chains=500, n_steps=200, generator=seeded(3)
    )
    assert ((found.value - exactly).abs() < 5 * found.standard_error + 1e-3).all()


@pytest.mark.parametrize(("visible", "hidden"), PAIRS)
def test_a_known_output_conditions_the_rest(visible, hidden):
    """log p(known) = log Z(clamped) - log Z, and clamping all outputs leaves -F."""
    energy = build(visible, hidden)
    v = energy.visible.sample(torch.zeros_like(energy.visible_bias), seeded(8))
    whole = energy.clamp(v)
    assert_close(exact.log_partition(whole), -energy.free_energy(v))
    assert_close(exact.marginals(whole).v, v)
    assert_close(mean_field.run(whole, n_steps=3).v, v)
    assert_close(gibbs.run(whole, whole.start(seeded(1)), generator=seeded(1)).v, v)
    found = search.gibbs(whole, n_steps=3, generator=seeded(1))
    assert_close(found.v, v)


@pytest.mark.parametrize("hidden", KINDS)
def test_all_categorical_states_are_one_hot_and_the_mode_is_the_best(hidden):
    energy = build("categorical", hidden)
    table = torch.tensor(states("categorical"), dtype=torch.float64)
    best = (-energy.with_state_axis().free_energy(table)).argmax(-1)
    assert_close(exact.mode(energy).v, table[best])


def test_the_mode_of_real_outputs_is_refused():
    with pytest.raises(TypeError, match="no finite list of states"):
        exact.mode(build("gaussian", "bernoulli"))


@pytest.mark.parametrize(("visible", "hidden"), PAIRS)
def test_tempering_and_tilting(visible, hidden):
    energy = build(visible, hidden)
    v = energy.visible.sample(torch.zeros_like(energy.visible_bias), seeded(8))
    other = energy.visible.sample(torch.zeros_like(energy.visible_bias), seeded(9))
    field = torch.randn(v.shape, dtype=v.dtype, generator=seeded(1))
    assert_close(
        energy.tilt(field).free_energy(v), energy.free_energy(v) - (v * field).sum(-1)
    )
    cold = energy.tempered(0.0)
    difference = cold.free_energy(v) - cold.free_energy(other)
    expected = ((other - v) * energy.visible_bias).sum(-1)
    expected = expected + energy.visible.log_base(other) - energy.visible.log_base(v)
    assert_close(difference, expected)
