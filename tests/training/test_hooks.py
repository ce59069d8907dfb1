"""Hooks: order, short forms, schedules, modes and state per run."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import crbm
from conftest import seeded
from crbm import objectives, training
from crbm.training import (
    Checkpoint,
    CosineSchedule,
    EarlyStopping,
    Hook,
    Progress,
    TensorBoard,
)
from crbm.training.randomness import Randomness
from crbm.types import Batch
from planted import copied_patterns

DATA = copied_patterns(64)


class Recorder(Hook):
    """Notes every call."""

    def __init__(self, name="recorder", priority=1):
        self.name, self.calls = name, []
        self.priority = priority

    def start(self, run):
        self.calls.append("start")

    def after_update(self, run):
        self.calls.append("update")

    def after_epoch(self, run):
        self.calls.append("epoch")

    def finish(self, run):
        self.calls.append("finish")

    def close(self):
        self.calls.append("close")


def fit(model=None, *, seed=0, n_epochs=3, **options):
    model = crbm.CRBM(4, 6, 4, seeded(1)) if model is None else model
    options = {"batch_size": 32, "learning_rate": 0.1, **options}
    history = training.fit(
        model,
        options.pop("objective", objectives.Perceptron(3)),
        options.pop("data", DATA),
        n_epochs=n_epochs,
        generator=seeded(seed),
        **options,
    )
    return model, history


def weights(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def test_a_hook_is_called_in_order():
    recorder = Recorder()
    fit(hooks=[recorder], n_epochs=2)
    epoch = ["update", "update", "epoch"]
    assert recorder.calls == ["start", *epoch, *epoch, "finish", "close"]


def test_a_hook_is_closed_when_the_run_fails():
    class Fails(Hook):
        def after_update(self, run):
            raise ZeroDivisionError

    recorder = Recorder()
    with pytest.raises(ZeroDivisionError):
        fit(hooks=[recorder, Fails()])
    assert recorder.calls == ["start", "update", "close"]


def test_a_hook_can_stop_the_run():
    class StopsAfterTwo(Hook):
        def after_epoch(self, run):
            if run.n_epochs == 2:
                run.stop("enough")

    _, history = fit(hooks=[StopsAfterTwo()], n_epochs=9)
    assert len(history.epochs) == 2
    assert history.stopped == "enough"


def test_hooks_equal_their_short_forms(tmp_path, capsys):
    short_model, short = fit(
        validation=DATA, patience=2, checkpoint=Checkpoint(tmp_path / "a"), n_epochs=6
    )
    model, history = fit(
        hooks=[
            Checkpoint(tmp_path / "b"),
            Progress(True),
            EarlyStopping(DATA, patience=2),
        ],
        n_epochs=6,
    )
    assert history.validation == short.validation
    assert history.best_epoch == short.best_epoch
    for name, weight in weights(model).items():
        assert torch.equal(weight, weights(short_model)[name])
    assert (tmp_path / "a").exists()
    assert (tmp_path / "b").exists()
    assert "epoch 1/6  loss" in capsys.readouterr().err


def test_early_stopping_can_be_used_for_another_run():
    hook = EarlyStopping(DATA, patience=2)
    first = fit(hooks=[hook], n_epochs=4)[1]
    second = fit(hooks=[hook], n_epochs=4)[1]
    assert first.validation == second.validation
    assert first.best_epoch == second.best_epoch


def test_tensorboard_is_a_hook(tmp_path):
    pytest.importorskip("tensorboard")
    fit(hooks=[TensorBoard(tmp_path)], n_epochs=1)
    assert list(tmp_path.iterdir())


@pytest.mark.parametrize("optimizer", [None, torch.optim.SGD, torch.optim.Adam])
def test_a_cosine_schedule_lowers_the_rate_to_zero(optimizer):
    rates = []

    class Rates(Hook):
        def after_update(self, run):
            update = run.update
            plain = optimizer is None
            rate = (
                update.learning_rate
                if plain
                else update.optimizer.param_groups[0]["lr"]
            )
            rates.append(rate)

    fit(optimizer=optimizer, hooks=[CosineSchedule(), Rates()], n_epochs=4)
    expected = [0.1 * (1 + math.cos(math.pi * place / 4)) / 2 for place in range(4)]
    assert rates[::2] == pytest.approx(expected)


def test_a_resumed_run_continues_its_schedule(tmp_path):
    class Cut(Hook):
        def after_epoch(self, run):
            if run.n_epochs == 2:
                raise InterruptedError

    expected = weights(fit(hooks=[CosineSchedule()], n_epochs=4)[0])
    path = tmp_path / "run"
    with pytest.raises(InterruptedError):
        fit(hooks=[CosineSchedule(), Cut(), Checkpoint(path, 0)], n_epochs=4)
    model, _ = fit(hooks=[CosineSchedule(), Checkpoint(path, resume=True)], n_epochs=4)
    for name, weight in weights(model).items():
        assert torch.equal(weight, expected[name])
    with pytest.raises(ValueError, match="`schedule` was cosine and is None"):
        fit(hooks=[Checkpoint(path, resume=True)], n_epochs=4)


def test_an_objective_with_chains_serves_several_runs():
    """The chains belong to the run, so batches of another size do no harm."""
    objective = objectives.PersistentContrastiveDivergence()
    results = []
    for batch_size in (16, 32, 16):
        model = crbm.RBM(6, 4, seeded(1))
        data = DATA._replace(u=None)
        fit(model, objective=objective, data=data, batch_size=batch_size)
        results.append(weights(model))
    for name, weight in results[0].items():
        assert torch.equal(weight, results[2][name])
    assert objective == objectives.PersistentContrastiveDivergence()


def test_the_model_is_in_the_right_mode():
    modes = []

    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 6 + 2)

        def forward(self, u):
            modes.append(self.training)
            return self.linear(u)

    model = crbm.NetworkCRBM(Noisy(), 6, 2, seeded(1))
    fit(model, validation=DATA, n_epochs=1)
    assert modes == [True, True, False]
    assert not model.training


def test_l2_leaves_biases_of_nested_modules_alone():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 6 + 2))
    model = crbm.NetworkCRBM(network, 6, 2, seeded(1))
    before = weights(model)

    def nothing(energy, batch, generator=None):
        from crbm.types import Contrast

        return Contrast.pair(batch.v, batch.v)

    fit(model, objective=nothing, l2=1.0, n_epochs=1)
    for name, weight in weights(model).items():
        if name.endswith("bias"):
            assert torch.equal(weight, before[name]), name
        else:
            assert_close(weight, before[name] * 0.9**2)


def test_both_sources_of_randomness_are_one_generator_on_the_cpu():
    generator = seeded(3)
    both = Randomness.on(torch.device("cpu"), generator)
    assert both.order is both.noise is generator
    assert list(both.state()) == ["now"]


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    return request.param


def test_the_same_seed_repeats_a_run_on_every_device(device):
    def run():
        data = Batch(DATA.u.to(device), DATA.v.to(device))
        model = crbm.CRBM(4, 6, 4, seeded(1), device=device)
        return weights(fit(model, data=data)[0])

    first, second = run(), run()
    for name, weight in first.items():
        assert weight.device.type == device
        assert torch.equal(weight, second[name])
