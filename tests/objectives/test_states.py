"""Which states the chain-based objectives name, and what they refuse."""

import pytest
import torch
from torch.testing import assert_close

from conftest import MODELS, N_CASES, randomised
from crbm import objectives
from crbm.inference import gibbs, mean_field, search
from crbm.types import Batch


def seeded():
    return torch.Generator().manual_seed(9)


def test_contrastive_divergence_names_the_end_of_a_chain_from_the_data(model, u, v):
    energy = model.condition(u)
    objective = objectives.ContrastiveDivergence(n_steps=3)
    contrast = objective(energy, Batch(u, v), seeded())
    expected = gibbs.run(energy, v, n_steps=3, generator=seeded()).v
    assert torch.equal(contrast.positive.v, v)
    assert torch.equal(contrast.negative.v, expected)
    gap = energy.free_energy(v) - energy.free_energy(expected)
    assert_close(contrast.loss, gap)


def test_perceptron_names_what_the_search_finds(model, u, v):
    energy = model.condition(u).expand(N_CASES)
    contrast = objectives.Perceptron(n_steps=4)(energy, Batch(u, v), seeded())
    found = search.gibbs(energy, n_steps=4, generator=seeded())
    assert torch.equal(contrast.negative.v, found.v)
    assert_close(contrast.loss, energy.free_energy(v) - found.free_energy)


def test_perceptron_never_sees_the_data(model, u, v):
    energy = model.condition(u)
    one = objectives.Perceptron()(energy, Batch(u, v), seeded())
    other = objectives.Perceptron()(energy, Batch(u, 1 - v), seeded())
    assert torch.equal(one.negative.v, other.negative.v)


def test_carried_means_belong_to_the_named_states(u, v):
    model = randomised(MODELS["crbm"]())
    energy = model.condition(u)
    v = v[:, :5] if v.shape[1] >= 5 else torch.ones(N_CASES, 5).double()
    for objective in (objectives.ContrastiveDivergence(3), objectives.Perceptron(6)):
        contrast = objective(energy, Batch(u, v), seeded())
        for states in (contrast.positive, contrast.negative):
            assert_close(states.cache, energy.hidden_logits(states.v).sigmoid())


def test_max_margin_searches_for_wrong_outputs(model, u, v):
    """With a huge margin the search finds the opposite of the data."""
    energy = model.condition(u).expand(N_CASES)
    objective = objectives.MaxMargin(n_steps=3, margin=1e4)
    contrast = objective(energy, Batch(u, v), seeded())
    assert torch.equal(contrast.negative.v, 1 - v)
    gap = energy.free_energy(v) - energy.free_energy(1 - v)
    assert_close(contrast.loss, 1e4 * model.n_visible + gap)
    assert (contrast.negative.weight == 1).all()


def test_max_margin_leaves_satisfied_cases_alone(u):
    model = MODELS["logistic"]()
    with torch.no_grad():
        model.weight_uv.zero_()
        model.bias_v.fill_(10.0)  # every wrong unit costs 10, the margin asks for 1
    v = torch.ones(N_CASES, 5).double()
    v[1, 0] = 0
    energy = model.condition(u)
    contrast = objectives.MaxMargin()(energy, Batch(u, v), seeded())
    assert contrast.loss[[0, 2]].tolist() == [0, 0]
    assert contrast.loss[1].item() == pytest.approx(11.0)
    assert contrast.positive.weight.tolist() == [0, 1, 0]


def test_unknown_outputs_are_drawn_and_known_ones_kept(model, u, known, generator):
    energy = model.condition(u).expand(N_CASES)
    for objective in (
        objectives.ContrastiveDivergence(2),
        objectives.Perceptron(2),
        objectives.MaxMargin(2),
    ):
        contrast = objective(energy, Batch(u, known), generator)
        fixed = ~known.isnan()
        assert_close(contrast.positive.v[fixed], known[fixed])
        assert contrast.positive.v.isfinite().all()


def test_persistent_chains_continue_within_a_run():
    model = randomised(MODELS["rbm"]())
    objective = objectives.PersistentContrastiveDivergence().start()
    energy = model.condition()
    generator, v = seeded(), torch.ones(4, 5).double()
    first = objective(energy, Batch(None, v), generator)
    state = generator.get_state()
    second = objective(energy, Batch(None, v), generator)
    replay = torch.Generator()
    replay.set_state(state)
    expected = gibbs.run(energy, first.negative.v, n_steps=1, generator=replay).v
    assert torch.equal(second.negative.v, expected)


@pytest.mark.parametrize("name", ["crbm", "crbm-no-uv", "crf"])
def test_persistent_chains_are_refused_for_conditional_models(name, u):
    model = randomised(MODELS[name]())
    objective = objectives.PersistentContrastiveDivergence()
    with pytest.raises(ValueError, match=r"different p\(v\|u\) for each u"):
        objective(model.condition(u), Batch(u, torch.ones(N_CASES, 5).double()))


def test_candidates_are_needed(u):
    model = randomised(MODELS["crbm"]())
    batch = Batch(u, torch.ones(N_CASES, 5).double())
    with pytest.raises(ValueError, match="CandidateLikelihood needs `candidates`"):
        objectives.CandidateLikelihood()(model.condition(u), batch)


def test_beliefs_need_a_crf(u):
    model = randomised(MODELS["crbm"]())
    batch = Batch(u, torch.ones(N_CASES, 5).double())
    with pytest.raises(TypeError, match="BeliefLikelihood needs a CRF"):
        objectives.BeliefLikelihood()(model.condition(u), batch)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: objectives.ContrastiveDivergence(0), "`n_steps` must be at least 1"),
        (lambda: objectives.Perceptron(n_steps=-1), "`n_steps` must be at least 1"),
        (lambda: objectives.MaxMargin(margin=0.0), "`margin` must be positive"),
        (lambda: objectives.BeliefLikelihood(damping=1.5), "`damping` must lie in"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


@pytest.mark.parametrize("model", ["crbm"], indirect=True)
def test_a_whole_nudge_names_the_data(model, u, v):
    energy = model.condition(u)
    objective = objectives.MeanFieldLikelihood(n_steps=4, n_nudged=2, nudge=1.0)
    contrast = objective(energy, Batch(u, v))
    assert_close(contrast.positive.v, v)
    assert_close(contrast.negative.v, mean_field.run(energy, n_steps=6).v)


@pytest.mark.parametrize("model", ["crf"], indirect=True)
def test_a_nudge_needs_hidden_units(model, u, v):
    with pytest.raises(TypeError, match="needs a model with hidden units"):
        objectives.MeanFieldLikelihood()(model.condition(u), Batch(u, v))


@pytest.mark.parametrize("nudge", [0.0, -0.1, 1.5, float("nan")])
def test_a_nudge_lies_between_nothing_and_the_data(nudge):
    with pytest.raises(ValueError, match="`nudge` must be above 0 and at most 1"):
        objectives.MeanFieldLikelihood(nudge=nudge)


@pytest.mark.parametrize("model", ["rbm"], indirect=True)
def test_a_short_batch_moves_the_first_chains_and_keeps_the_others(model):
    objective = objectives.PersistentContrastiveDivergence().start()
    data = torch.zeros(4, model.n_visible).double()
    source = seeded()

    def update(n_cases):
        energy = model.condition(None)
        objective(energy, Batch(None, data[:n_cases]), source)
        return objective.chains[0].clone()

    before = update(4)
    for _ in range(5):  # a chain of five coins may well stay where it is once
        after = update(2)
    assert len(after) == 4
    assert torch.equal(after[2:], before[2:])
    assert not torch.equal(after[:2], before[:2])
