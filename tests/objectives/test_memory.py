"""Objectives that keep states for each case: constraint sets and chains."""

import pytest
import torch
from torch.testing import assert_close

import crbm
import oracles
from conftest import MODELS, N_CASES, randomised, seeded
from crbm import objectives, training
from crbm.inference import gibbs
from crbm.objectives.memory import CaseMemory
from crbm.training.settings import _describe_objective
from crbm.types import Batch
from crbm.units import Bernoulli, Gaussian

ROWS = torch.tensor([4, 0, 2])


@pytest.fixture
def labels():
    return torch.tensor([[1.0, 0, 0, 1, 1], [0, 0, 1, 1, 0], [1, 1, 1, 0, 0]]).double()


def set_loss(model, u, v, sets):
    """-log p(v | u) over the data and its constraints."""
    total, w = 0.0, oracles.parameters(model)
    for u_row, v_row, states in zip(u.tolist(), v.tolist(), sets, strict=True):
        scores = [-oracles.free_energy(model, each, u_row, w) for each in states]
        own = -oracles.free_energy(model, v_row, u_row, w)
        total += oracles.log_sum_exp([own, *scores]) - own
    return total


def stored(objective, rows=ROWS):
    memory = objective.memory
    return [memory.states[r, : memory.counts[r]].double().tolist() for r in rows]


def test_constraints_are_the_wrong_predictions_so_far(u, labels):
    model, generator = randomised(MODELS["crbm"](), 0.3), seeded()
    objective = objectives.ContrastiveConstraints(n_constraints=8, n_steps=1).start()
    batch = Batch(u, labels, rows=ROWS)
    for _ in range(6):
        contrast = objective(model.condition(u), batch, generator)
    sets = stored(objective)
    assert max(len(each) for each in sets) > 1
    for states, v in zip(sets, labels.tolist(), strict=True):
        assert v not in states
        assert len({tuple(each) for each in states}) == len(states)
    assert contrast.loss.sum().item() == pytest.approx(set_loss(model, u, labels, sets))
    expected = oracles.finite_difference(
        model, lambda: set_loss(model, u, labels, sets)
    )
    for name, found in model.gradients(u, contrast).items():
        assert_close(found, expected[name], rtol=1e-6, atol=1e-8, msg=name)


def test_the_least_likely_constraint_makes_room(u, labels):
    model, generator = randomised(MODELS["crbm"](), 0.3), seeded(3)
    objective = objectives.ContrastiveConstraints(n_constraints=2, n_steps=1).start()
    batch, w = Batch(u, labels, rows=ROWS), oracles.parameters(model)
    seen = False
    for _ in range(20):
        before = stored(objective) if objective.memory.states is not None else []
        objective(model.condition(u), batch, generator)
        after = stored(objective)
        for old, new, u_row in zip(before, after, u.tolist(), strict=False):
            gone = [state for state in old if state not in new]
            for state in gone:
                free = [oracles.free_energy(model, each, u_row, w) for each in old]
                assert oracles.free_energy(model, state, u_row, w) == max(free)
                seen = True
        assert all(len(each) <= 2 for each in after)
    assert seen


def test_sets_belong_to_a_run_and_to_their_rows(u, labels):
    model = randomised(MODELS["crbm"](), 0.3)
    origin = objectives.ContrastiveConstraints(n_steps=1)
    one, other = origin.start(), origin.start()
    one(model.condition(u), Batch(u, labels, rows=ROWS), seeded(4))
    assert other.memory.states is None
    assert one.memory.counts[[1, 3]].tolist() == [0, 0]


def test_case_chains_continue_where_their_case_left_off(u, labels):
    model = randomised(MODELS["crbm"]())
    objective = objectives.PersistentContrastiveDivergence(per_case=True).start()
    energy, generator = model.condition(u), seeded()
    first = objective(energy, Batch(u, labels, rows=ROWS), generator)
    order = torch.tensor([2, 0, 1])  # the same cases in another order
    turned, state = model.condition(u[order]), generator.get_state()
    batch = Batch(u[order], labels[order], rows=ROWS[order])
    second = objective(turned, batch, generator)
    replay = torch.Generator()
    replay.set_state(state)
    start = first.negative.v[order]
    expected = gibbs.run(turned, start, n_steps=1, generator=replay).v
    assert torch.equal(second.negative.v, expected)
    assert torch.equal(second.positive.v, labels[order])


@pytest.mark.parametrize(
    "origin",
    [
        objectives.ContrastiveConstraints(3),
        objectives.PersistentContrastiveDivergence(per_case=True),
    ],
    ids=["constraints", "chains"],
)
def test_streams_are_refused_and_checkpoints_continue(origin, u, labels):
    model = randomised(MODELS["crbm"](), 0.3)
    objective = origin.start()
    with pytest.raises(ValueError, match="must recognise the cases"):
        objective(model.condition(u), Batch(u, labels))
    objective(model.condition(u), Batch(u, labels, rows=ROWS), seeded(1))
    restored = origin.start()
    restored.restore(objective.state())
    batch = Batch(u, labels, rows=ROWS)
    one = objective(model.condition(u), batch, seeded(2))
    other = restored(model.condition(u), batch, seeded(2))
    assert torch.equal(one.negative.v, other.negative.v)
    wrong = {"states": torch.zeros(2, 7, 5), "counts": torch.ones(2)}
    with pytest.raises(ValueError, match="do not fit"):
        origin.start().restore(wrong)


def test_the_loop_tells_objectives_the_rows():
    u = torch.eye(6)
    objective = objectives.ContrastiveConstraints(n_constraints=4).start()
    training.fit(
        crbm.CRBM(6, 6, 2),
        objective,
        Batch(u, u),
        n_epochs=2,
        batch_size=4,
        generator=seeded(),
        progress=False,
    )
    assert len(objective.memory.counts) >= 6
    assert (objective.memory.counts[:6] > 0).all()


def test_discrete_states_are_stored_as_bytes():
    memory, v = CaseMemory(2), torch.ones(N_CASES, 5)
    memory.read(ROWS, v, Bernoulli())
    assert memory.states.dtype == torch.int8
    real = CaseMemory(2)
    real.read(ROWS, v, Gaussian())
    real.write(ROWS, torch.zeros_like(ROWS), v / 3)
    assert torch.equal(real.read(ROWS, v, Gaussian())[0][:, 0], v / 3)


@pytest.mark.parametrize(
    ("objective", "text"),
    [
        (objectives.Perceptron(), "Perceptron(n_steps=10, precision='full')"),
        (objectives.MaxMargin(), "MaxMargin(n_steps=10, margin=1.0)"),
        (
            objectives.Perceptron(search="exact"),
            "Perceptron(n_steps=10, precision='full', search='exact')",
        ),
    ],
)
def test_checkpoints_of_earlier_versions_continue(objective, text):
    """They stored this text; a parameter added later is named only where it is set."""
    assert _describe_objective(objective) == text
