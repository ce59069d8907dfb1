"""The training loop: it learns, repeats, stops and refuses."""

import json
import warnings

import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from torch.testing import assert_close
from torch.utils.data import DataLoader, TensorDataset

import crbm
import long_runs
from crbm import objectives, training
from crbm.inference import exact
from crbm.types import Batch
from planted import copied_patterns, exact_loss


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def new_model(n_hidden=8):
    return crbm.CRBM(4, 6, n_hidden, seeded(1))


def trained(objective, model=None, data=None, seed=0, **options):
    model = new_model() if model is None else model
    data = copied_patterns(256) if data is None else data
    options = {"n_epochs": 20, "batch_size": 32, "learning_rate": 0.1} | options
    history = training.fit(model, objective, data, generator=seeded(seed), **options)
    return model, history


LEARNERS = {
    "cd-1": (objectives.ContrastiveDivergence(1), new_model),
    "cd-10": (objectives.ContrastiveDivergence(10), new_model),
    "perceptron": (objectives.Perceptron(), new_model),
    "max-margin": (objectives.MaxMargin(), new_model),
    "exact": (objectives.ExactLikelihood(), new_model),
    "logistic": (objectives.ExactLikelihood(), lambda: new_model(0)),
    "crf": (objectives.BeliefLikelihood(20), lambda: crbm.CRF(4, 6, seeded(1))),
    "crf-cd": (objectives.ContrastiveDivergence(1), lambda: crbm.CRF(4, 6, seeded(1))),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_training_lowers_the_exact_loss(name):
    objective, build = LEARNERS[name]
    data, held_out = copied_patterns(256), copied_patterns(256, seed=1)
    before = exact_loss(build(), held_out)
    model, _ = trained(objective, build(), data)
    assert exact_loss(model, held_out) < 0.85 * before
    # noise alone is wrong in 5 % of the bits, and some inputs mislead
    assert training.PredictionError(held_out)(model) < 0.13


def test_candidate_likelihood_learns():
    data = copied_patterns(256)
    seen = data.v.unique(dim=0)
    model, history = trained(
        objectives.CandidateLikelihood(), data=data._replace(candidates=seen)
    )
    assert history.loss[-1] < 0.6 * history.loss[0]
    energy = model.condition(data.u)
    found = exact.mode(energy, candidates=seen).v
    assert (found != data.v).float().mean() < 0.13


def test_an_unconditional_rbm_learns_by_persistent_chains():
    data = copied_patterns(256)._replace(u=None)
    model = crbm.RBM(6, 8, seeded(1))
    before = exact_loss(model, data)
    objective = objectives.PersistentContrastiveDivergence()
    trained(objective, model, data, n_epochs=60)
    assert exact_loss(model, data) < 0.75 * before


@pytest.mark.parametrize("optimizer", [None, torch.optim.Adam])
def test_the_same_seed_repeats_a_run_bit_for_bit(optimizer):
    runs = [
        trained(objectives.Perceptron(), seed=3, n_epochs=3, optimizer=optimizer)
        for _ in range(2)
    ]
    other, _ = trained(objectives.Perceptron(), seed=4, n_epochs=3, optimizer=optimizer)
    for name, weight in runs[0][0].state_dict().items():
        assert torch.equal(weight, runs[1][0].state_dict()[name])
    assert runs[0][1].loss == runs[1][1].loss
    assert not torch.equal(other.weight_vh, runs[0][0].weight_vh)


def test_dropout_follows_the_generator_and_not_the_global_one():
    def run(seed):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            found = long_runs.run("dropout", data=copied_patterns(64))
            return long_runs.outcome(*found)

    long_runs.assert_same(run(1), run(2))


class Recorder(torch.nn.Module):
    """Keeps its inputs and what dropout would keep of them."""

    def __init__(self):
        super().__init__()
        self.inputs, self.masks = [], []

    def forward(self, u):
        self.inputs.append(u)
        self.masks.append(torch.nn.functional.dropout(torch.ones_like(u)))
        return u


def test_each_update_and_each_epoch_has_its_own_dropout_and_order():
    cases, recorder = copied_patterns(8), Recorder()
    network = torch.nn.Sequential(recorder, torch.nn.Linear(4, 6))
    model = crbm.NetworkCRBM(network, 6, 0, seeded(1))
    data = DataLoader(TensorDataset(torch.randn(8, 4), cases.v), 4, shuffle=True)
    before = torch.get_rng_state()
    trained(objectives.ExactLikelihood(), model, data, n_epochs=2)
    assert torch.equal(torch.get_rng_state(), before)
    assert len({str(mask) for mask in recorder.masks}) == 4
    assert len({str(u) for u in recorder.inputs}) == 4


def test_the_global_generator_is_left_alone():
    state = torch.get_rng_state()
    trained(objectives.Perceptron(), n_epochs=2)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_plain_descent_is_torchs_sgd(l2):
    plain, _ = trained(objectives.ExactLikelihood(), n_epochs=2, l2=l2)
    by_torch, _ = trained(
        objectives.ExactLikelihood(), n_epochs=2, l2=l2, optimizer=torch.optim.SGD
    )
    for name, weight in plain.state_dict().items():
        # same sums in another order, in float32
        assert_close(weight, by_torch.state_dict()[name], rtol=1e-4, atol=1e-6)


def test_one_step_is_the_gradient_of_the_mean_loss():
    data, model = copied_patterns(16), new_model()
    objective, start = objectives.ExactLikelihood(), new_model()
    contrast = objective(start.condition(data.u), data)
    trained(objective, model, data, n_epochs=1, batch_size=16, learning_rate=0.5)
    for name, slope in start.gradients(data.u, contrast).items():
        expected = start.state_dict()[name] - 0.5 * slope / 16
        assert_close(model.state_dict()[name], expected)


def test_an_optimiser_already_built_is_used():
    model = new_model()
    adam = torch.optim.Adam(model.parameters(), lr=1e-2)
    trained(objectives.Perceptron(), model, n_epochs=1, optimizer=adam)
    assert adam.state


@pytest.mark.parametrize("optimizer", [torch.optim.LBFGS, torch.optim.SparseAdam])
def test_an_optimiser_that_cannot_take_gradients_is_refused(optimizer):
    with pytest.raises(ValueError, match=f"{optimizer.__name__} cannot take steps"):
        trained(objectives.Perceptron(), optimizer=optimizer)


def test_case_weights_count_cases_more_than_once():
    data = copied_patterns(8)
    doubled = Batch(torch.cat([data.u, data.u[:4]]), torch.cat([data.v, data.v[:4]]))
    weight = torch.tensor([2.0] * 4 + [1.0] * 4)
    options = {"n_epochs": 3}
    repeated, _ = trained(
        objectives.ExactLikelihood(),
        data=doubled,
        batch_size=12,
        **options,
    )
    weighted, _ = trained(
        objectives.ExactLikelihood(),
        data=data._replace(weight=weight),
        batch_size=8,
        **options,
    )
    assert_close(weighted.weight_vh, repeated.weight_vh, rtol=1e-4, atol=1e-6)


def test_augmentation_changes_what_is_learned_from():
    data = copied_patterns(64)

    def blind(batch, generator):
        return batch._replace(u=torch.zeros_like(batch.u))

    model, _ = trained(objectives.ExactLikelihood(), data=data, augment=blind)
    assert torch.equal(model.weight_uv, new_model().weight_uv)
    assert not torch.equal(model.weight_vh, new_model().weight_vh)


def test_early_stopping_restores_the_best_weights():
    errors = iter([0.5, 0.3, 0.4, 0.35, 0.2])
    seen = []

    def validation(model):
        seen.append(model.weight_vh.detach().clone())
        return next(errors)

    model, history = trained(
        objectives.Perceptron(), n_epochs=5, validation=validation, patience=2
    )
    assert history.stopped == "early"
    assert history.best_epoch == 1
    assert history.validation == [0.5, 0.3, 0.4, 0.35]
    assert torch.equal(model.weight_vh, seen[1])


def test_held_out_cases_are_validated_by_prediction_error():
    held_out = copied_patterns(64, seed=1)
    model, history = trained(objectives.Perceptron(), n_epochs=4, validation=held_out)
    assert history.stopped is None
    best = history.validation[history.best_epoch]
    assert best == min(history.validation)
    assert training.PredictionError(held_out)(model) == best


def test_history_is_plain_data():
    _, history = trained(objectives.Perceptron(), n_epochs=2)
    plain = json.loads(json.dumps(history.as_dict()))
    assert [epoch["loss"] for epoch in plain["epochs"]] == history.loss
    assert plain["best_epoch"] is None


def test_a_callback_hears_of_each_epoch():
    heard = []
    trained(
        objectives.Perceptron(),
        n_epochs=3,
        callback=lambda place, epoch: heard.append((place, epoch.loss)),
    )
    assert [place for place, _ in heard] == [0, 1, 2]


def test_divergence_stops_with_advice_and_keeps_good_weights():
    model = new_model()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="Lower `learning_rate`"):
            trained(objectives.ContrastiveDivergence(), model, learning_rate=1e38)
    assert all(p.isfinite().all() for p in model.parameters())


def test_divergence_is_recorded():
    model = new_model()
    with pytest.warns(ConvergenceWarning, match="no longer finite"):
        _, history = trained(
            objectives.ContrastiveDivergence(), model, learning_rate=1e38
        )
    assert history.stopped == "diverged"
    assert history.epochs == []  # it went wrong in the first epoch,
    for name, weight in new_model().state_dict().items():  # so that nothing was kept
        assert torch.equal(model.state_dict()[name], weight)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v": torch.full((8, 6), 2.0)}, "`v` must hold 0, 1 or NaN.*row 0, column 0"),
        ({"v": torch.zeros(8, 5)}, "`v` must have 6 columns"),
        ({"u": torch.zeros(8, 3)}, "`u` must have 4 columns"),
        ({"u": torch.zeros(7, 4)}, "`u` has 7, `v` has 8"),
        ({"u": torch.full((8, 4), torch.nan)}, "`u` must be finite"),
        ({"u": torch.zeros(8, 4).double()}, r"`u` is torch\.float64"),
        ({"u": torch.zeros(8, 4, device="meta")}, "`u` is on meta"),
        ({"u": torch.zeros(0, 4), "v": torch.zeros(0, 6)}, "at least one case"),
    ],
)
def test_wrong_data_is_refused_before_any_update(change, message):
    model, data = new_model(), copied_patterns(8)._replace(**change)
    before = model.weight_vh.detach().clone()
    with pytest.raises(ValueError, match=message):
        trained(objectives.Perceptron(), model, data)
    assert torch.equal(model.weight_vh, before)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"learning_rate": 0.0}, "`learning_rate` must be positive"),
        ({"batch_size": 0}, "`batch_size` must be at least 1"),
        ({"n_epochs": -1}, "`n_epochs` must be at least 0"),
        ({"l2": -1.0}, "`l2` must not be negative"),
    ],
)
def test_wrong_options_are_refused(option, message):
    with pytest.raises(ValueError, match=message):
        trained(objectives.Perceptron(), **option)


def test_inputs_are_checked_once_per_run(monkeypatch):
    checked = []
    check = crbm.CRBM._check_inputs

    def counted(model, u):
        checked.append(len(u))
        check(model, u)

    monkeypatch.setattr(crbm.CRBM, "_check_inputs", counted)
    trained(objectives.ContrastiveDivergence(), n_epochs=2)
    assert checked == [256]


class Shifted(crbm.CRBM):
    """A user's model that overrides `condition` and asks its parent."""

    def condition(self, u):
        return super().condition(u).tilt(torch.ones(self.n_visible))


def test_the_condition_of_a_subclass_is_used():
    seen = []

    def objective(energy, batch, generator=None):
        seen.append(energy.visible_bias)
        return objectives.ContrastiveDivergence()(energy, batch, generator)

    model = Shifted(4, 6, 8, seeded(1))
    data = copied_patterns(32)
    expected = model.condition(data.u).visible_bias.detach()
    trained(objective, model, data, n_epochs=1, batch_size=32)
    order = torch.randperm(32, generator=seeded())
    assert_close(seen[0], expected[order])
