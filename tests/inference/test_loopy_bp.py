"""Belief propagation: exact on trees, stable at huge weights, near on loops."""

import pytest
import torch
from torch.testing import assert_close

import crbm
import oracles
from conftest import MODELS, N_CASES, randomised
from crbm.inference import exact, loopy_bp


def one_hidden_unit():
    return randomised(crbm.CRBM(3, 5, 1, dtype=torch.float64), scale=2.0)


def chain():
    """A CRF whose couplings form a chain 0-1-2-3-4."""
    model = randomised(MODELS["crf"](), scale=2.0)
    with torch.no_grad():
        near = torch.zeros(5, 5).double()
        for i in range(4):
            near[i, i + 1] = near[i + 1, i] = 1
        model.weight_vv.mul_(near)
    return model


@pytest.mark.parametrize("tree", [one_hidden_unit, chain])
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("clamped", [False, True])
def test_it_is_exact_on_trees(tree, damping, clamped, u):
    model = tree()
    known = torch.full((N_CASES, 5), torch.nan).double()
    known[0, 0], known[1, 2] = 1, 0
    known = known if clamped else None
    energy = model.condition(u).clamp(known)
    found = loopy_bp.run(energy, n_steps=100, damping=damping)
    rows = [None] * N_CASES if known is None else known.tolist()
    expected = [
        oracles.marginals(model, *case) for case in zip(u.tolist(), rows, strict=True)
    ]
    assert_close(found.v, torch.tensor(expected).double())
    assert (found.delta < 1e-9).all()


@pytest.mark.parametrize("clamped", [False, True])
def test_moments_and_bethe_are_exact_on_trees(clamped, u):
    model = chain()
    known = torch.full((N_CASES, 5), torch.nan).double()
    known[0, 1] = 1
    known = known if clamped else None
    energy = model.condition(u).clamp(known)
    found = loopy_bp.moments(energy, n_steps=50, damping=0.0)
    rows = [None] * N_CASES if known is None else known.tolist()
    cases = list(zip(u.tolist(), rows, strict=True))
    expected = torch.tensor([oracles.second_moments(model, *c) for c in cases]).double()
    coupled = (model.couplings() != 0) | torch.eye(5, dtype=bool)
    assert_close(found.vv * coupled, expected * coupled)
    expected = torch.tensor([oracles.log_partition(model, *c) for c in cases]).double()
    assert_close(loopy_bp.log_partition(energy, found), expected)


def test_it_beats_mean_field_on_loops(u):
    """Not a theorem but a sanity check on weak couplings, with a wide margin."""
    from crbm.inference import mean_field

    model = randomised(MODELS["crf"](), scale=0.5)
    energy = model.condition(u)
    truth = exact.marginals(energy).v
    beliefs = loopy_bp.run(energy, n_steps=100, damping=0.3).v
    assert (beliefs - truth).abs().max() < 0.01
    means = mean_field.run(energy, n_steps=100).v
    assert (beliefs - truth).abs().max() < (means - truth).abs().max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weight", [50.0, -50.0])
def test_huge_weights_stay_stable(weight, dtype):
    """Two units that must agree (or differ): the belief follows the stronger bias."""
    pair = crbm.CRF(1, 2, dtype=dtype)
    with torch.no_grad():
        pair.weight_uv.zero_()
        pair.weight_vv.copy_(torch.tensor([[0, weight], [weight, 0]]))
        pair.bias_v.copy_(torch.tensor([2.0, -1.0]) - weight / 2)
    energy = pair.condition(torch.zeros(1, 1, dtype=dtype))
    found = loopy_bp.run(energy, n_steps=20, damping=0.0).v
    assert_close(found, exact.marginals(energy).v, rtol=1e-4, atol=1e-4)  # 50 +- 1e-6
    star = crbm.CRBM(1, 3, 1, dtype=dtype)
    with torch.no_grad():
        star.weight_vh.fill_(weight)
        star.bias_v.copy_(torch.tensor([1.0, -2.0, 0.5]))
        star.bias_h.fill_(-weight)
    energy = star.condition(torch.zeros(1, 1, dtype=dtype))
    found = loopy_bp.run(energy, n_steps=20, damping=0.0).v
    assert_close(found, exact.marginals(energy).v, rtol=1e-4, atol=1e-4)


def test_messages_equal_their_definition():
    weight = torch.tensor([-50.0, -3.0, -1e-3, 0.0, 2.0, 50.0]).double()
    cavity = torch.linspace(-60, 60, 41).double()[:, None]
    plain = torch.nn.functional.softplus(
        cavity + weight
    ) - torch.nn.functional.softplus(cavity)
    assert_close(loopy_bp.Couplings.of(weight).message(cavity), plain)


def test_an_energy_without_pairs_is_refused():
    class Own(crbm.EnergyModel):
        n_visible = 2

        def free_energy(self, v, u):
            return v.sum(-1)

    with pytest.raises(TypeError, match="needs a pairwise or a bipartite energy"):
        loopy_bp.run(Own().condition(torch.zeros(1, 1)))


def test_damping_must_lie_below_one():
    with pytest.raises(ValueError, match=r"`damping` must lie in \[0, 1\)"):
        loopy_bp.run(crbm.RBM(2, 2).condition(), damping=1.0)
