"""Objectives against gradients that can be enumerated."""

import math

import pytest
import torch
from torch.testing import assert_close

import oracles
from conftest import MODELS, N_CASES, randomised
from crbm import objectives
from crbm.inference import exact, loopy_bp, mean_field
from crbm.types import Batch, Candidates

LOOSE = {"rtol": 1e-6, "atol": 1e-8}  # central differences of step 1e-5


def named(model, objective, batch, generator=None):
    return objective(model.condition(batch.u), batch, generator)


def assert_gradients(found, expected):
    assert found.keys() == expected.keys()
    for name, slope in expected.items():
        if name == "weight_vv":
            slope = slope.clone().fill_diagonal_(0)
        assert_close(
            found[name], slope, msg=lambda text, n=name: f"{n}: {text}", **LOOSE
        )


def test_exact_likelihood(model, u, v):
    contrast = named(model, objectives.ExactLikelihood(), Batch(u, v))
    found = model.gradients(u, contrast)
    assert_gradients(found, oracles.likelihood_gradient(model, u, v))
    cases = zip(v.tolist(), u.tolist(), strict=True)
    expected = [-oracles.log_probability(model, *case) for case in cases]
    assert_close(contrast.loss, torch.tensor(expected).double())


@pytest.mark.parametrize("form", ["shared", "private", "by ids"])
def test_candidates_that_are_everything_give_the_exact_gradient(model, u, v, form):
    everything = exact.all_states(model.n_visible).double()
    batch = {
        "shared": Batch(u, v, everything),
        "private": Batch(u, v, everything.expand(N_CASES, -1, -1)),
        "by ids": Batch(
            u,
            v,
            Candidates(
                everything, ids=torch.arange(len(everything)).repeat(N_CASES, 1)
            ),
        ),
    }[form]
    contrast = named(model, objectives.CandidateLikelihood(), batch)
    found = model.gradients(u, contrast)
    assert_gradients(found, oracles.likelihood_gradient(model, u, v))


def candidate_loss(model, u, rows, known):
    """-log p(known | u) over the rows, by plain sums."""

    def agrees(v, labels):
        return all(math.isnan(k) or k == x for k, x in zip(labels, v, strict=True))

    total, w = 0.0, oracles.parameters(model)
    for u_row, states, labels in zip(u.tolist(), rows, known.tolist(), strict=True):
        scores = [(-oracles.free_energy(model, v, u_row, w), v) for v in states]
        some = [score for score, v in scores if agrees(v, labels)]
        total += oracles.log_sum_exp([s for s, _ in scores]) - oracles.log_sum_exp(some)
    return total


@pytest.mark.parametrize("missing", [False, True])
def test_candidate_likelihood_with_masks_and_missing_labels(model, u, missing):
    table = exact.all_states(model.n_visible).double()
    ids = torch.tensor([[3, 5, 9, 2], [1, 0, 4, 7], [8, 2, 7, 6]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]]).bool()
    v = table[[5, 4, 2]].clone()
    if missing:
        v[0, 1:3] = torch.nan
        v[2] = torch.nan
    batch = Batch(u, v, Candidates(table, mask, ids))
    contrast = named(model, objectives.CandidateLikelihood(), batch)
    rows = [table[i[m]].tolist() for i, m in zip(ids, mask, strict=True)]
    expected = oracles.finite_difference(
        model, lambda: candidate_loss(model, u, rows, v)
    )
    assert_gradients(model.gradients(u, contrast), expected)
    assert contrast.loss.sum().item() == pytest.approx(
        candidate_loss(model, u, rows, v)
    )


def test_candidate_likelihood_with_a_base_measure(model, u):
    """A candidate of weight two counts like two of them."""
    table = exact.all_states(model.n_visible).double()[[3, 5, 9, 2]]
    v = table[[1, 0, 3]]
    log_base = torch.tensor([1.0, 2.0, 1.0, 3.0]).double().log()
    objective = objectives.CandidateLikelihood()
    found = named(model, objective, Batch(u, v, Candidates(table, log_base=log_base)))
    rows = [table[[0, 1, 1, 2, 3, 3, 3]].tolist()] * N_CASES
    expected = oracles.finite_difference(
        model, lambda: candidate_loss(model, u, rows, v)
    )
    assert_gradients(model.gradients(u, found), expected)


def test_exact_likelihood_with_missing_labels(model, u, v):
    """An unknown label is summed out."""
    v = v.clone()
    v[0, 0] = v[1, 2] = torch.nan
    contrast = named(model, objectives.ExactLikelihood(), Batch(u, v))
    rows = [oracles.bits(model.n_visible)] * N_CASES
    expected = oracles.finite_difference(
        model, lambda: candidate_loss(model, u, rows, v)
    )
    assert_gradients(model.gradients(u, contrast), expected)


def chain_crf():
    model = randomised(MODELS["crf"]())
    with torch.no_grad():
        near = torch.diag(torch.ones(4), 1) + torch.diag(torch.ones(4), -1)
        model.weight_vv.mul_(near.double())
    return model


@pytest.mark.parametrize("missing", [False, True])
def test_belief_likelihood_is_exact_on_a_tree(u, missing):
    model = chain_crf()
    v = torch.tensor([[1.0, 0, 0, 1, 1], [0, 0, 1, 1, 0], [1, 1, 1, 0, 0]]).double()
    if missing:
        v[0, 1] = v[2, 4] = torch.nan
    objective = objectives.BeliefLikelihood(n_steps=50, damping=0.0)
    contrast = named(model, objective, Batch(u, v))
    found = model.gradients(u, contrast)
    rows = [oracles.bits(5)] * N_CASES
    expected = oracles.finite_difference(
        model, lambda: candidate_loss(model, u, rows, v)
    )
    near = (model.couplings() != 0).double()  # of pairs that are no neighbours the
    found["weight_vv"] *= near  # tree knows nothing
    expected["weight_vv"] *= near
    assert_gradients(found, expected)
    assert contrast.loss.sum().item() == pytest.approx(
        candidate_loss(model, u, rows, v)
    )


def test_belief_likelihood_names_what_belief_propagation_believes(u):
    model = randomised(MODELS["crf"]())
    v = torch.ones(N_CASES, 5).double()
    objective = objectives.BeliefLikelihood(n_steps=7, damping=0.6)
    believed = loopy_bp.moments(model.condition(u), n_steps=7, damping=0.6)
    contrast = named(model, objective, Batch(u, v))
    assert_close(contrast.negative.vv, believed.vv)


def mean_field_surprise(model, u, v):
    """-log p(v) under means that have come to rest."""
    with torch.no_grad():
        means = mean_field.run(model.condition(u), n_steps=100).v
    surprise = torch.where(v > 0.5, means, 1 - means).log()
    return -surprise[~v.isnan()].sum().item()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("model", ["rbm", "crbm"], indirect=True)
def test_mean_field_likelihood_is_the_slope_of_its_prediction(model, u, v, missing):
    v = v.clone()
    if missing:
        v[0, 0] = v[1, 2] = torch.nan
    objective = objectives.MeanFieldLikelihood(n_steps=100, n_nudged=100, nudge=1e-6)
    contrast = named(model, objective, Batch(u, v))
    expected = oracles.finite_difference(
        model, lambda: mean_field_surprise(model, u, v)
    )
    for name, slope in model.gradients(u, contrast).items():
        # the nudge of 1e-6 bends the slope by its own size, and rounds it by 1e-9
        assert_close(slope, expected[name], rtol=1e-5, atol=1e-5, msg=name)
    assert contrast.loss.sum().item() == pytest.approx(mean_field_surprise(model, u, v))


def average_gradient(model, objective, batch, n_draws, generator):
    total = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    for _ in range(n_draws):
        contrast = objective(model.condition(batch.u), batch, generator)
        model.add_gradient(batch.u, contrast, into=total, scale=1 / n_draws)
    return total


def test_long_chains_near_the_exact_gradient(generator):
    """CD-50 on a fast-mixing model, 3,000 chains: noise of 1/sqrt(3000) = 0.018."""
    model = randomised(MODELS["crbm"](), scale=0.3)
    u = torch.randn(1, 3, dtype=torch.float64, generator=generator)
    v = torch.ones(1, 5).double()
    n_chains = 3000
    batch = Batch(u.expand(n_chains, -1), v.expand(n_chains, -1))
    objective = objectives.ContrastiveDivergence(n_steps=50)
    contrast = objective(model.condition(batch.u), batch, generator)
    found = model.gradients(batch.u, contrast)
    expected = oracles.likelihood_gradient(model, u, v)
    for name, slope in expected.items():
        # five standard errors of a mean of 3,000 products within [-3, 3]
        assert_close(found[name] / n_chains, slope, rtol=0, atol=0.15, msg=name)


def test_contrastive_divergence_is_enumerable_in_expectation(generator):
    """E[CD-1] = the data's term minus sum over v' of T(v, v') dF(v')."""
    model = randomised(MODELS["crbm"](), scale=0.5)
    u = torch.randn(1, 3, dtype=torch.float64, generator=generator)
    v = torch.tensor([[1.0, 0, 0, 1, 1]]).double()
    energy = model.condition(u)
    states, hidden = exact.all_states(5).double(), exact.all_states(4).double()
    p_h = bernoulli_pmf(energy.hidden_logits(v), hidden)
    p_v = bernoulli_pmf(energy.visible_logits(hidden), states)
    weight = (p_h @ p_v).detach()
    from crbm.types import Contrast, States

    expected = model.gradients(u, Contrast(States(v), States(states[None], weight)))
    n_chains = 20_000
    batch = Batch(u.expand(n_chains, -1), v.expand(n_chains, -1))
    contrast = objectives.ContrastiveDivergence()(
        model.condition(batch.u), batch, generator
    )
    found = model.gradients(batch.u, contrast)
    for name, slope in expected.items():
        # five standard errors: 5 * 1.5 / sqrt(20,000) = 0.05
        assert_close(found[name] / n_chains, slope, rtol=0, atol=0.05, msg=name)


def bernoulli_pmf(logits, states):
    p = logits.sigmoid()[:, None]
    return torch.where(states == 1, p, 1 - p).prod(-1)
