"""Exact inference against plain enumeration."""

import math

import pytest
import torch
from torch.testing import assert_close

import crbm
import oracles
from conftest import N_CASES, randomised
from crbm.inference import enumeration, exact
from crbm.types import Candidates


def per_case(function, model, u, known=None):
    rows = [None] * len(u) if known is None else known.tolist()
    answers = [function(model, *case) for case in zip(u.tolist(), rows, strict=True)]
    return torch.tensor(answers, dtype=torch.float64)


@pytest.fixture(params=[False, True], ids=["free", "clamped"])
def clamps(request, known):
    return known if request.param else None


def test_log_partition(model, u, clamps):
    energy = model.condition(u).expand(N_CASES).clamp(clamps)
    assert_close(
        exact.log_partition(energy), per_case(oracles.log_partition, model, u, clamps)
    )


def test_marginals(model, u, clamps):
    energy = model.condition(u).expand(N_CASES).clamp(clamps)
    found = exact.marginals(energy)
    assert_close(found.v, per_case(oracles.marginals, model, u, clamps))
    assert (found.delta == 0).all()


def test_mode(model, u, clamps):
    energy = model.condition(u).expand(N_CASES).clamp(clamps)
    found = exact.mode(energy)
    assert_close(found.v, per_case(oracles.mode, model, u, clamps))
    assert_close(found.free_energy, energy.free_energy(found.v))


def test_log_probability(model, u, v):
    energy = model.condition(u).expand(N_CASES)
    expected = [
        oracles.log_probability(model, *case)
        for case in zip(v.tolist(), u.tolist(), strict=True)
    ]
    assert_close(exact.log_probability(energy, v), torch.tensor(expected).double())


def test_log_probability_is_none_at_all_against_a_clamp(model, u, v):
    known = torch.full_like(v, torch.nan)
    known[0, 0] = 1 - v[0, 0]
    energy = model.condition(u).expand(N_CASES).clamp(known)
    found = exact.log_probability(energy, v)
    assert found[0] == -math.inf
    assert found[1:].isfinite().all()


def test_chunks_do_not_change_the_answer(model, u, clamps, monkeypatch):
    energy = model.condition(u).expand(N_CASES).clamp(clamps)
    whole = exact.log_partition(energy), exact.marginals(energy).v, exact.mode(energy).v
    monkeypatch.setattr(enumeration, "CHUNK_ELEMENTS", 45)
    parts = exact.log_partition(energy), exact.marginals(energy).v, exact.mode(energy).v
    for one, other in zip(whole, parts, strict=True):
        assert_close(one, other)


def test_the_smaller_layer_is_enumerated(u):
    """2^30 outputs are no obstacle when there are only four hidden units."""
    model = randomised(crbm.CRBM(3, 30, 4, dtype=torch.float64), scale=0.3)
    swapped = crbm.CRBM(3, 4, 30, dtype=torch.float64)
    with torch.no_grad():  # the same machine with the two layers exchanged
        swapped.weight_vh.copy_(model.weight_vh.T)
        swapped.weight_uv.copy_(model.weight_uh)
        swapped.weight_uh.copy_(model.weight_uv)
        swapped.bias_v.copy_(model.bias_h)
        swapped.bias_h.copy_(model.bias_v)
    assert_close(
        exact.log_partition(model.condition(u)),
        exact.log_partition(swapped.condition(u)),
    )


def test_all_outputs_as_candidates_are_the_exact_answer(model, u, clamps):
    energy = model.condition(u).expand(N_CASES).clamp(clamps)
    table = torch.tensor(oracles.bits(model.n_visible)).double()
    for candidates in (table, table.expand(N_CASES, -1, -1)):
        found = exact.marginals(energy, candidates=candidates)
        assert_close(found.v, exact.marginals(energy).v)
        assert_close(
            exact.log_partition(energy, candidates=candidates),
            exact.log_partition(energy),
        )
        mode = exact.mode(energy, candidates=candidates)
        assert_close(mode.v, exact.mode(energy).v)
        assert_close(mode.free_energy, exact.mode(energy).free_energy)


def test_masked_candidates_do_not_count(model, u):
    energy = model.condition(u).expand(N_CASES)
    table = torch.tensor(oracles.bits(model.n_visible)).double()
    chosen = torch.tensor([[3, 5, 9], [1, 0, 4], [8, 2, 7]])
    mask = torch.tensor([[True, True, True], [True, True, False], [True, False, False]])
    by_ids = exact.marginals(energy, candidates=Candidates(table, mask, chosen)).v
    dense = exact.marginals(energy, candidates=Candidates(table[chosen], mask)).v
    assert_close(by_ids, dense)
    for case in range(N_CASES):
        states = [table[i].tolist() for i in chosen[case, : mask[case].sum()]]
        row = u[case].tolist()
        weights = [math.exp(-oracles.free_energy(model, v, row)) for v in states]
        for i in range(model.n_visible):
            expected = sum(w * v[i] for w, v in zip(weights, states, strict=True))
            assert dense[case, i].item() == pytest.approx(expected / sum(weights))


def test_a_base_measure_multiplies_each_candidate(model, u):
    """Counting a candidate three times is the same as listing it three times."""
    energy = model.condition(u).expand(N_CASES)
    table = torch.tensor(oracles.bits(model.n_visible)).double()[[3, 5, 9]]
    log_base = torch.tensor([3.0, 1.0, 2.0]).double().log()
    repeated = table[[0, 0, 0, 1, 2, 2]]
    expected = exact.marginals(energy, candidates=repeated).v
    shared = Candidates(table, log_base=log_base)
    assert_close(exact.marginals(energy, candidates=shared).v, expected)
    own = Candidates(
        table.expand(N_CASES, -1, -1), log_base=log_base.expand(N_CASES, 3)
    )
    assert_close(exact.marginals(energy, candidates=own).v, expected)
    v = table[[0, 2, 1]]
    expected = exact.log_probability(energy, v, candidates=repeated)
    found = exact.log_probability(energy, v, candidates=shared)
    assert_close(found, expected + torch.tensor([3.0, 2.0, 1.0]).double().log())
    assert_close(own.select(torch.tensor([1])).log_base, log_base[None])


def test_log_probability_over_candidates(model, u):
    energy = model.condition(u).expand(N_CASES)
    table = torch.tensor(oracles.bits(model.n_visible)).double()
    chosen = torch.tensor([[3, 5, 9], [1, 0, 4], [8, 2, 7]])
    among = exact.log_probability(energy, table[chosen[:, 1]], candidates=table[chosen])
    weights = exact.distribution(energy, candidates=table[chosen]).weight
    assert_close(among, weights[:, 1].log())
    outside = exact.log_probability(
        energy, table[[15, 15, 15]], candidates=table[chosen]
    )
    assert (outside == -math.inf).all()


def test_marginals_may_leave_the_candidates():
    """The worked example under Eq 16."""
    flat = crbm.RBM(3, 2)
    with torch.no_grad():
        flat.weight_vh.zero_()
    candidates = torch.tensor([[[1.0, 1, 0], [1, 0, 1], [0, 1, 1]]])
    energy = flat.condition().expand(1)
    marginals = exact.marginals(energy, candidates=candidates).v
    assert_close(marginals, torch.full((1, 3), 2 / 3))
    prediction = (marginals > 0.5).float()
    assert prediction.tolist() == [[1, 1, 1]]
    assert not (candidates == prediction[:, None]).all(-1).any()
    assert (candidates == exact.mode(energy, candidates=candidates).v).all(-1).any()


def test_too_large_for_enumeration():
    energy = crbm.RBM(21, 22).condition()
    with pytest.raises(ValueError, match=r"at most 20; got 21.*2\^21.*candidates"):
        exact.log_partition(energy)
    with pytest.raises(ValueError, match="Enumeration needs n_visible of at most 20"):
        exact.mode(crbm.RBM(21, 2).condition())


def test_a_case_without_candidates_is_refused():
    energy = crbm.RBM(2, 2).condition().expand(2)
    candidates = torch.zeros(2, 1, 2)
    with pytest.raises(ValueError, match="case 1 has none"):
        exact.mode(
            energy, candidates=Candidates(candidates, torch.tensor([[True], [False]]))
        )
    clash = energy.clamp(torch.tensor([[1.0, torch.nan]] * 2))
    with pytest.raises(ValueError, match="case 0 has none"):
        exact.marginals(clash, candidates=candidates)


def test_all_states_counts_in_binary():
    assert exact.all_states(2).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert exact.all_states(0).shape == (1, 0)
