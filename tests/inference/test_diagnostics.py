"""R-hat and effective sample size against plain formulas and known answers."""

import math
from statistics import NormalDist

import pytest
import torch

import crbm
from conftest import seeded
from crbm.inference import diagnostics

QUANTILE = NormalDist().inv_cdf


def normal_scores(values):
    """Normal quantiles of average ranks, by counting."""
    n = len(values)
    ranks = [
        sum(y < x for y in values) + (sum(y == x for y in values) + 1) / 2
        for x in values
    ]
    return [QUANTILE((rank - 3 / 8) / (n + 1 / 4)) for rank in ranks]


def split_chains(chains):
    n, flat = len(chains[0]), [x for chain in chains for x in chain]
    z = normal_scores(flat)
    rows = [z[i * n : (i + 1) * n] for i in range(len(chains))]
    return [half for row in rows for half in (row[: n // 2], row[-(n // 2) :])]


def mean(x):
    return math.fsum(x) / len(x)


def variance(x):
    return math.fsum((a - mean(x)) ** 2 for a in x) / (len(x) - 1)


def plain_r_hat(chains):
    """The formulas of Vehtari et al. (2021), equations 1 to 4."""

    def of(chains):
        halves = split_chains(chains)
        n = len(halves[0])
        within = mean([variance(half) for half in halves])
        between = n * variance([mean(half) for half in halves])
        return math.sqrt(((n - 1) / n * within + between / n) / within)

    flat = sorted(x for chain in chains for x in chain)
    median = flat[(len(flat) - 1) // 2]
    return max(of(chains), of([[abs(x - median) for x in chain] for chain in chains]))


def plain_size(chains):
    """Equations 10 to 13 with Geyer's initial monotone sequence."""
    halves = split_chains(chains)
    m, n = len(halves), len(halves[0])

    def covariance(x, lag):
        centre = mean(x)
        return sum((x[i] - centre) * (x[i + lag] - centre) for i in range(n - lag)) / n

    within = mean([variance(half) for half in halves])
    total = (n - 1) / n * within + variance([mean(half) for half in halves])
    rho = [1.0] + [
        1 - (within - mean([covariance(h, t) for h in halves]) * n / (n - 1)) / total
        for t in range(1, n)
    ]
    tau, smallest = -1.0, math.inf
    for t in range(0, n - 1, 2):
        pair = rho[t] + rho[t + 1]
        if pair <= 0:
            break
        smallest = min(smallest, pair)
        tau += 2 * smallest
    return m * n / max(tau, 1 / math.log10(m * n))


@pytest.fixture
def draws():
    """Chains of correlated numbers, of coins, and of coins that disagree."""
    noise = torch.randn(3, 21, generator=seeded(1)).double()
    walk = noise.cumsum(1) / 3
    coins = (noise > 0).double()
    level = torch.tensor([0.1, 0.5, 0.9])[:, None]
    apart = (torch.rand(3, 21, generator=seeded(2)) < level).double()
    return torch.stack([noise, walk, coins, apart], -1)


def test_r_hat_follows_the_formulas(draws):
    found = diagnostics.r_hat(draws)
    for place in range(draws.shape[-1]):
        chains = draws[..., place].tolist()
        assert found[place].item() == pytest.approx(plain_r_hat(chains)), place
    assert found[3] > 1.1 > found[0]


def test_effective_sample_size_follows_the_formulas(draws):
    found = diagnostics.effective_sample_size(draws)
    for place in range(draws.shape[-1]):
        chains = draws[..., place].tolist()
        assert found[place].item() == pytest.approx(plain_size(chains)), place


def test_effective_sample_size_of_an_autoregression():
    """x_t = r x_{t-1} + noise has (1 - r) / (1 + r) times as many draws."""
    n_chains, n_draws, r = 8, 4000, 0.6
    noise = torch.randn(n_chains, n_draws, generator=seeded()).double()
    x, rows = noise[:, 0] / math.sqrt(1 - r**2), []
    for step in range(n_draws):
        x = r * x + noise[:, step]
        rows.append(x)
    size = diagnostics.effective_sample_size(torch.stack(rows, 1)).item()
    # the estimate of tau from 32,000 draws is right to a few percent
    assert size == pytest.approx(n_chains * n_draws * (1 - r) / (1 + r), rel=0.1)


def test_a_quantity_that_never_changes_has_no_answer():
    constant = torch.ones(2, 10, 3)
    assert diagnostics.r_hat(constant).isnan().all()
    assert diagnostics.effective_sample_size(constant).isnan().all()


def two_modes(strength):
    """Four outputs that are all 0 or all 1, symmetric at every temperature."""
    model = crbm.RBM(4, 2, dtype=torch.float64)
    sign = torch.tensor([1.0, -1.0]).double()
    with torch.no_grad():
        model.weight_vh.copy_(strength * sign.expand(4, 2))
        model.bias_v.zero_()
        model.bias_h.copy_(-2 * strength * sign)
    return model.condition().detach()


def test_chains_stuck_in_different_modes_are_noticed():
    energy, steps = two_modes(8.0), {"n_steps": 150, "n_warmup": 20}
    stuck = diagnostics.trace(energy, **steps, generator=seeded(3))
    assert diagnostics.r_hat(stuck.v).amax() > 1.5
    mixed = diagnostics.trace(energy, **steps, n_temperatures=6, generator=seeded(3))
    assert diagnostics.r_hat(mixed.v).amax() < 1.1
    size = diagnostics.effective_sample_size(mixed.v).amin().item()
    # five standard errors of a mean of so many coins
    assert mixed.v.mean().item() == pytest.approx(0.5, abs=2.5 / size**0.5)


def test_too_few_draws_are_refused():
    with pytest.raises(ValueError, match="at least 4 draws"):
        diagnostics.r_hat(torch.zeros(4, 3))


def test_chains_that_never_leave_their_start_disagree_without_bound():
    apart = torch.stack([torch.zeros(10), torch.ones(10)])
    assert diagnostics.r_hat(apart).item() == torch.inf
