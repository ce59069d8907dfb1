"""Gibbs kernels: what they leave unchanged, by matrix and by counting."""

import torch
from scipy.stats import chisquare
from torch.testing import assert_close

import oracles
from conftest import MODELS, N_CASES, randomised
from crbm.energies import BipartiteEnergy
from crbm.inference import exact, gibbs


def block_transitions(energy, case):
    """T[v, v'] = sum_h p(h | v) p(v' | h), from the two conditionals alone."""
    states = exact.all_states(energy.n_visible).double()
    hidden = exact.all_states(energy.n_hidden).double()
    p_h = pmf(
        energy.hidden_logits(states[:, None].expand(-1, N_CASES, -1)), hidden, case
    )
    p_v = pmf(
        energy.visible_logits(hidden[:, None].expand(-1, N_CASES, -1)), states, case
    )
    return p_h @ p_v


def pmf(logits, states, case):
    p = logits[:, case].sigmoid()[:, None]
    return torch.where(states == 1, p, 1 - p).prod(-1)


def site_transitions(energy, case):
    """The product of the single-unit kernels in the order of the sweep."""
    states = exact.all_states(energy.n_visible).double()
    total = torch.eye(len(states)).double()
    for unit in range(energy.n_visible):
        kernel = torch.zeros_like(total)
        for row, v in enumerate(states):
            p = energy.flip_logits(v.expand(N_CASES, -1), unit)[case].sigmoid()
            bit = 2 ** (energy.n_visible - 1 - unit)
            kernel[row, row | bit] += p
            kernel[row, row & ~bit] += 1 - p
        total = total @ kernel
    return total


def test_the_kernel_leaves_the_distribution_invariant(model, u):
    energy = model.condition(u).expand(N_CASES)
    for case, row in enumerate(u.tolist()):
        p = torch.tensor([p for _, p in oracles.distribution(model, row)]).double()
        kernels = [site_transitions(energy, case)]
        if isinstance(energy, BipartiteEnergy):
            kernels.append(block_transitions(energy, case))
        for kernel in kernels:
            assert_close(kernel.sum(1), torch.ones_like(p))
            assert_close(p @ kernel, p)


def counts_after_a_step(step, energy, p, n_samples, generator):
    states = exact.all_states(energy.n_visible).double()
    start = states[torch.multinomial(p, n_samples, True, generator=generator)]
    end = step(energy, start, generator).v
    places = 2 ** torch.arange(energy.n_visible - 1, -1, -1)
    return torch.bincount((end.long() * places).sum(1), minlength=len(states))


def test_samples_follow_the_distribution(generator):
    """20,000 draws from the exact law, one step: the counts still fit it.

    With 32 states of at least 20 expected counts a wrong conditional (a bias of 0.1 in
    one unit) moves chi-square by more than 100, far past the threshold.
    """
    n_samples = 20_000
    for name, step in (("rbm", gibbs.step), ("rbm", gibbs.site_step)):
        model = randomised(MODELS[name](), scale=0.4)
        energy = model.condition()
        p = exact.distribution(energy).weight[0].detach()
        assert p.min() * n_samples > 20
        counts = counts_after_a_step(step, energy, p, n_samples, generator)
        assert chisquare(counts, (p * n_samples).numpy()).pvalue > 1e-3


def test_the_hidden_state_is_the_one_that_made_the_visible(generator):
    """v copies h through huge weights: a stale h would not match."""
    model = MODELS["rbm"]()
    with torch.no_grad():
        model.weight_vh.zero_()
        model.weight_vh[:4] = 200 * torch.eye(4)
        model.bias_v[:4] = -100
        model.bias_h.zero_()
    v = torch.full((64, 5), 0.5).double()  # pre-activation 100 - far from deciding
    model.bias_h.data.fill_(-100.0)
    state = gibbs.run(model.condition(), v, n_steps=1, generator=generator)
    assert 0 < state.h.mean() < 1
    assert_close(state.v[:, :4], state.h)


def test_clamped_units_never_move(model, u, v, known, generator):
    energy = model.condition(u).expand(N_CASES).clamp(known)
    for step in (gibbs.step, gibbs.site_step):
        state = step(energy, v, generator)
        fixed = ~known.isnan()
        assert_close(state.v[fixed], known[fixed])


def test_a_chain_is_its_steps_in_turn(model, u, v):
    energy = model.condition(u)
    chain = gibbs.run(energy, v, n_steps=3, generator=torch.Generator().manual_seed(5))
    generator, state = torch.Generator().manual_seed(5), v
    for _ in range(3):
        state = gibbs.step(energy, state, generator).v
    assert torch.equal(chain.v, state)
