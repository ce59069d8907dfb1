"""Max margin over V(u), and the exact perceptron loss, against brute force."""

import pytest
import torch
from torch.testing import assert_close

import crbm
import oracles
from conftest import MODELS, N_CASES, randomised, seeded
from crbm import objectives
from crbm.inference import exact
from crbm.types import Batch, Candidates
from crbm.units import Categorical

LOOSE = {"rtol": 1e-6, "atol": 1e-8}  # central differences of step 1e-5
COSTS, MISSED, MARGIN = (1.0, 0.5, 2.0, 0.0, 3.0), 1.5, 0.7


def label_loss(wrong, v, costs, missed):
    """Costs of the labels that differ, times `missed` where a label was there."""
    return sum(
        cost * (missed if truth else 1)
        for cost, x, truth in zip(costs, wrong, v, strict=True)
        if x != truth
    )


def margin_loss(model, u, v, rows, bases, costs, missed):
    """The largest violation over the candidates, by plain loops."""
    total, w = [], oracles.parameters(model)
    cases = zip(u.tolist(), v.tolist(), rows, bases, strict=True)
    for u_row, v_row, sets, base in cases:
        scores = [
            -oracles.free_energy(model, each, u_row, w) + b
            for each, b in zip(sets, base, strict=True)
        ]
        own = scores[sets.index(v_row)]
        violations = [
            MARGIN * label_loss(each, v_row, costs, missed) + score - own
            for each, score in zip(sets, scores, strict=True)
        ]
        total.append(max(0.0, *violations))
    return total


def candidates(n_visible, log_base):
    table = exact.all_states(n_visible).double()
    ids = torch.tensor([[3, 5, 9, 2], [1, 0, 4, 7], [8, 2, 7, 6]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]]).bool()
    base = torch.linspace(0, 2, len(table)).double() if log_base else None
    rows = [table[i[m]].tolist() for i, m in zip(ids, mask, strict=True)]
    bases = [
        ([0.0] * int(m.sum()) if base is None else base[i[m]].tolist())
        for i, m in zip(ids, mask, strict=True)
    ]
    return Candidates(table, mask, ids, base), table[[5, 4, 2]], rows, bases


@pytest.mark.parametrize("log_base", [False, True], ids=["uniform", "base measure"])
def test_margin_over_candidates_is_the_brute_force_maximum(model, u, log_base):
    table, v, rows, bases = candidates(model.n_visible, log_base)
    costs = COSTS[: model.n_visible]
    objective = objectives.MaxMargin(margin=MARGIN, costs=costs, missed=MISSED)
    contrast = objective(model.condition(u), Batch(u, v, table))
    expected = margin_loss(model, u, v, rows, bases, costs, MISSED)
    assert_close(contrast.loss, torch.tensor(expected).double())
    assert sum(loss > 0 for loss in expected) > 0
    slopes = oracles.finite_difference(
        model, lambda: sum(margin_loss(model, u, v, rows, bases, costs, MISSED))
    )
    for name, found in model.gradients(u, contrast).items():
        slope = slopes[name]
        if name == "weight_vv":
            slope = slope.clone().fill_diagonal_(0)
        assert_close(found, slope, msg=name, **LOOSE)


def test_margin_of_unknown_labels_takes_the_best_agreeing_candidate(u):
    model = randomised(MODELS["crbm"]())
    table, v, rows, _ = candidates(5, log_base=False)
    v[0] = torch.nan
    v[0, 3] = 0.0  # sets 5, 9 and 2 have it 0 or 1; those with 0 agree
    contrast = objectives.MaxMargin()(model.condition(u), Batch(u, v, table))
    agreeing = [each for each in rows[0] if each[3] == 0]
    assert 0 < len(agreeing) < len(rows[0])
    u_row = u[0].tolist()
    best = min(agreeing, key=lambda each: oracles.free_energy(model, each, u_row))
    assert contrast.positive.v[0].tolist() == best
    assert torch.equal(contrast.positive.v[1:], v[1:])


def test_costs_of_categorical_outputs():
    kinds = Categorical(3)
    model = crbm.CRBM(2, 6, 0, visible=kinds, dtype=torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    u, v = torch.zeros(1, 2).double(), torch.tensor([[1.0, 0, 0, 0, 1, 0]]).double()
    everything = torch.eye(3)[torch.cartesian_prod(*[torch.arange(3)] * 2)]
    batch = Batch(u, v, everything.flatten(1).double())
    contrast = objectives.MaxMargin(costs=(2.0, 5.0))(model.condition(u), batch)
    assert contrast.loss.item() == pytest.approx(7.0)
    with pytest.raises(TypeError, match="`missed` is for binary outputs"):
        objectives.MaxMargin(missed=2.0)(model.condition(u), batch)


def test_wrong_costs_are_refused(u):
    model = randomised(MODELS["crbm"]())
    batch = Batch(u, torch.ones(N_CASES, 5).double())
    with pytest.raises(ValueError, match="one number for each of the 5"):
        objectives.MaxMargin(costs=(1.0, 2.0))(model.condition(u), batch)
    with pytest.raises(ValueError, match="`costs` must not be negative"):
        objectives.MaxMargin(costs=(1.0, -2.0))


def perceptron_loss(model, u, v):
    """F(v) - min F over all outputs."""
    total, w = 0.0, oracles.parameters(model)
    for u_row, v_row in zip(u.tolist(), v.tolist(), strict=True):
        each = [
            oracles.free_energy(model, state, u_row, w)
            for state in oracles.bits(len(v_row))
        ]
        total += oracles.free_energy(model, v_row, u_row, w) - min(each)
    return total


def test_exact_perceptron_is_the_gap_to_the_global_minimum(model, u, v):
    objective = objectives.Perceptron(search="exact")
    contrast = objective(model.condition(u), Batch(u, v))
    assert contrast.loss.sum().item() == pytest.approx(perceptron_loss(model, u, v))
    slopes = oracles.finite_difference(model, lambda: perceptron_loss(model, u, v))
    for name, found in model.gradients(u, contrast).items():
        slope = slopes[name]
        if name == "weight_vv":
            slope = slope.clone().fill_diagonal_(0)
        assert_close(found, slope, msg=name, **LOOSE)


def test_exact_perceptron_stays_within_the_candidates(u):
    model = randomised(MODELS["crbm"]())
    table, v, rows, _ = candidates(5, log_base=False)
    objective = objectives.Perceptron(search="exact")
    contrast = objective(model.condition(u), Batch(u, v, table), seeded())
    for found, sets, u_row in zip(contrast.negative.v, rows, u.tolist(), strict=True):
        best = min(sets, key=lambda each: oracles.free_energy(model, each, u_row))
        assert found.tolist() == best
