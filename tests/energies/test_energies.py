"""Energies against enumeration of all (v, h)."""

import pytest
import torch
from torch.testing import assert_close

import crbm
import oracles
from conftest import MODELS, randomised


def test_free_energy_sums_the_hidden_states_out(model, u, v):
    cases = zip(v.tolist(), u.tolist(), strict=True)
    expected = [oracles.free_energy(model, *case) for case in cases]
    assert_close(model.free_energy(v, u), torch.tensor(expected, dtype=v.dtype))


def test_energy_is_that_of_every_joint_state(u):
    model = randomised(MODELS["crbm"]())
    energy, w = model.condition(u), oracles.parameters(model)
    for v in oracles.bits(5)[::5]:
        for h in oracles.bits(4)[::3]:
            found = energy.energy(torch.tensor(v).double(), torch.tensor(h).double())
            expected = [oracles.energy(w, v, h, row) for row in u.tolist()]
            assert_close(found, torch.tensor(expected).double())


def test_conditionals_are_ratios_of_joint_probabilities(u):
    model = randomised(MODELS["crbm"]())
    energy = model.condition(u)
    h = torch.tensor([1.0, 0, 1, 1]).double()
    v = torch.tensor([1.0, 0, 0, 1, 1]).double()
    visible = energy.visible_logits(h)
    hidden = energy.hidden_logits(v)
    for i in range(5):
        on, off = v.clone(), v.clone()
        on[i], off[i] = 1, 0
        assert_close(visible[:, i], energy.energy(off, h) - energy.energy(on, h))
    for j in range(4):
        on, off = h.clone(), h.clone()
        on[j], off[j] = 1, 0
        assert_close(hidden[:, j], energy.energy(v, off) - energy.energy(v, on))


def test_flip_logits_are_differences_of_free_energy(model, u, v):
    energy = model.condition(u)
    for i in range(model.n_visible):
        on, off = v.clone(), v.clone()
        on[:, i], off[:, i] = 1, 0
        expected = energy.free_energy(off) - energy.free_energy(on)
        assert_close(energy.flip_logits(v, i), expected)


def test_rows_of_a_table_are_evaluated_as_states_of_each_case(model, u):
    table = torch.tensor(oracles.bits(model.n_visible)).double()
    ids = torch.tensor([[0, 5, 5], [1, 2, 3], [15, 0, 7]])
    energy = model.condition(u).expand(3)
    found = energy.evaluate_rows(table, ids).free_energy
    for case in range(3):
        for place in range(3):
            v = table[ids[case, place]].tolist()
            expected = oracles.free_energy(model, v, u[case].tolist())
            assert found[case, place].item() == pytest.approx(expected)


@pytest.mark.parametrize("wrong", [300, -1, 10**12])
def test_ids_of_no_row_are_refused_before_memory_is_read(wrong):
    """A compiled loop would read, and later write, wherever they point."""
    model, table = crbm.CRBM(3, 5, 64), torch.zeros(300, 5)
    ids = torch.zeros(50, 40, dtype=torch.int64)
    ids[7, 3] = wrong
    with torch.no_grad(), pytest.raises(RuntimeError, match="out of bounds"):
        model.condition(torch.zeros(50, 3)).evaluate_rows(table, ids)


def test_zero_input_turns_a_crbm_into_its_rbm(v):
    model = randomised(MODELS["crbm"]())
    rbm = crbm.RBM(5, 4, dtype=torch.float64)
    rbm.load_state_dict(
        {name: model.state_dict()[name] for name in ("weight_vh", "bias_v", "bias_h")}
    )
    v = v[:, :5] if v.shape[1] >= 5 else torch.zeros(3, 5).double()
    assert_close(model.free_energy(v, torch.zeros(3, 3).double()), rbm.free_energy(v))


def test_relabelling_hidden_units_changes_nothing(u):
    model = randomised(MODELS["crbm"]())
    v = torch.tensor([[1.0, 0, 0, 1, 1]] * 3).double()
    before = model.free_energy(v, u)
    order = torch.tensor([2, 0, 3, 1])
    with torch.no_grad():
        model.weight_vh.copy_(model.weight_vh[:, order])
        model.weight_uh.copy_(model.weight_uh[:, order])
        model.bias_h.copy_(model.bias_h[order])
    assert_close(model.free_energy(v, u), before)


def test_tilting_subtracts_a_linear_term(model, u, v):
    energy = model.condition(u).expand(3)
    slope = torch.randn(v.shape, dtype=v.dtype, generator=torch.Generator())
    expected = energy.free_energy(v) - (v * slope).sum(-1)
    assert_close(energy.tilt(slope).free_energy(v), expected)


def test_scaling_to_zero_leaves_independent_units(model, u, v):
    energy = model.condition(u).expand(3).tempered(0.0)
    other = 1 - v
    for i in range(1, model.n_visible):
        assert_close(energy.flip_logits(v, i), energy.flip_logits(other, i))
    assert_close(
        model.condition(u).tempered(1.0).free_energy(v),
        model.condition(u).free_energy(v),
    )


def test_float32_and_float64_agree():
    model = randomised(MODELS["crbm"]())
    u = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator())
    v = torch.ones(4, 5, dtype=torch.float64)
    expected = model.free_energy(v, u)
    found = model.float().free_energy(v.float(), u.float())
    assert found.dtype == torch.float32
    assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)  # float32's precision


def test_huge_weights_stay_finite():
    model = randomised(MODELS["crbm"](), scale=1000.0)
    u = torch.ones(2, 3, dtype=torch.float64)
    assert model.free_energy(torch.ones(2, 5, dtype=torch.float64), u).isfinite().all()
