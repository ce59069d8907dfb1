"""Checkpoints: resumed runs are undisturbed ones."""

from functools import partial

import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

import crbm
import long_runs
from crbm import objectives, persistence
from crbm.training import Checkpoint, PredictionError
from crbm.training.early_stopping import MEASURES
from long_runs import Cut, cut_short, resume
from planted import copied_patterns


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new folder" / "kept.safetensors"


@pytest.mark.parametrize("name", long_runs.RUNS)
def test_a_resumed_run_is_an_undisturbed_one(name, path):
    expected = long_runs.outcome(*long_runs.run(name))
    for n_updates in (2, 4, 7):  # within an epoch of 4 updates, at its end, within
        kept = Checkpoint(path, every_seconds=0)
        cut_short(name, kept, n_updates)
        long_runs.assert_same(long_runs.outcome(*resume(name, kept)), expected)
        path.unlink()
        kept.previous.unlink()


@pytest.mark.parametrize("every", [{"every_epochs": 2}, {"every_seconds": 1e9}])
def test_a_run_loses_no_more_than_since_the_last_checkpoint(every, path):
    kept = Checkpoint(path, **{"every_seconds": None, **every})
    cut_short("plain", kept, 4 * 3 + 2)
    assert path.exists() == ("every_epochs" in every)
    if path.exists():
        _, description = persistence.read(path)
        assert len(description["plain"]["history/epochs"]) == 2
        assert description["plain"]["n_updates"] == 0
    expected = long_runs.outcome(*long_runs.run("plain"))
    long_runs.assert_same(long_runs.outcome(*resume("plain", kept)), expected)


def test_torchs_own_generator_is_kept_where_none_is_given(path):
    def run(**options):
        torch.manual_seed(3)
        return long_runs.run("plain", generator=None, **options)

    with torch.random.fork_rng():
        expected = long_runs.outcome(*run())
        torch.manual_seed(3)
        kept = Checkpoint(path, every_seconds=0)
        cut_short("plain", kept, 6, generator=None)
        torch.manual_seed(4)
        found = long_runs.outcome(*resume("plain", kept, generator=None))
    long_runs.assert_same(found, expected)


def test_a_callback_may_draw_from_the_generator_too(path):
    def run(start, **options):
        generator = long_runs.seeded()

        def draw(place, epoch):
            torch.rand(3, generator=generator)

        return start(generator=generator, callback=draw, **options)

    kept = Checkpoint(path, every_seconds=0)
    run(partial(cut_short, "plain", kept, 6))
    found = run(partial(resume, "plain", kept))
    expected = run(partial(long_runs.run, "plain"))
    long_runs.assert_same(long_runs.outcome(*found), long_runs.outcome(*expected))


def test_a_finished_run_is_not_run_again(path):
    generator = long_runs.seeded()
    kept = Checkpoint(path)
    expected = long_runs.run("adam", checkpoint=kept, generator=generator)
    heard, again = [], long_runs.seeded()
    found = long_runs.run(
        "adam",
        checkpoint=kept,
        resume=True,
        generator=again,
        callback=lambda *epoch: heard.append(epoch),
    )
    assert heard == []
    long_runs.assert_same(long_runs.outcome(*found), long_runs.outcome(*expected))
    assert torch.equal(again.get_state(), generator.get_state())


@pytest.mark.parametrize("name", ["plain", "adam"])
def test_a_finished_run_may_be_made_longer(name, path):
    kept = Checkpoint(path)
    long_runs.run(name, n_epochs=2, checkpoint=kept)
    longer = long_runs.run(name, checkpoint=kept, resume=True)
    expected = long_runs.outcome(*long_runs.run(name))
    long_runs.assert_same(long_runs.outcome(*longer), expected)
    with pytest.raises(ValueError, match=r"has 4 epochs, more than.*=3"):
        long_runs.run(name, n_epochs=3, checkpoint=kept, resume=True)


class Errors:
    """Validation errors made up beforehand."""

    def __init__(self, *values):
        self.values = iter(values)

    def __call__(self, model):
        return next(self.values)


def test_an_early_stop_stays_one(path):
    options = {"patience": 2, "checkpoint": Checkpoint(path)}
    first = long_runs.run("plain", validation=Errors(0.1, 0.2, 0.3), **options)
    second = long_runs.run(
        "plain", validation=Errors(), n_epochs=50, resume=True, **options
    )
    assert first[1].stopped == "early"
    assert second[1] == first[1]
    long_runs.assert_same(long_runs.outcome(*second), long_runs.outcome(*first))


def test_the_best_weights_may_lie_before_the_cut(path):
    kept = Checkpoint(path, every_seconds=0)
    cut_short("plain", kept, 6, validation=Errors(0.1))
    found = resume("plain", kept, validation=Errors(0.4, 0.3, 0.2))
    expected = long_runs.run("plain", validation=Errors(0.1, 0.4, 0.3, 0.2))
    assert found[1].best_epoch == 0
    long_runs.assert_same(long_runs.outcome(*found), long_runs.outcome(*expected))


def test_divergence_within_a_resumed_epoch_gives_back_good_weights(path):
    kept = Checkpoint(path, every_seconds=0)
    cut_short("plain", kept, 6)  # in the second epoch
    poison = Cut("plain", -1)
    poison.change = lambda batch, generator: batch._replace(u=batch.u * 1e38)
    with pytest.warns(ConvergenceWarning, match="Lower `learning_rate`"):
        model, history = resume("plain", kept, augment=poison)
    assert history.stopped == "diverged"
    good, _ = long_runs.run("plain", n_epochs=1)
    for name, weight in good.state_dict().items():
        assert torch.equal(model.state_dict()[name], weight)


CHANGES = {
    "learning_rate": {"learning_rate": 0.2},
    "batch_size": {"batch_size": 32},
    "l2": {"l2": 0.1},
    "patience": {"patience": 3},
    "seed": {"generator": long_runs.seeded(9)},
    "objective": {"objective": objectives.ContrastiveDivergence(n_steps=3)},
    "optimizer": {"optimizer": torch.optim.Adam},
    "weights": {"model": crbm.CRBM(4, 6, 7)},
    "model": {"model": crbm.CRF(4, 6)},
    "data": {"data": copied_patterns(63)},
    "data ": {"data": copied_patterns(64, seed=5)},
    "validation": {"validation": copied_patterns(8)},
    "augment": {"augment": long_runs.noisy},
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_run_is_refused(name, path):
    long_runs.run("plain", n_epochs=1, checkpoint=Checkpoint(path))
    change = CHANGES[name]
    with pytest.raises(ValueError, match=f"of another run: .*`{name.strip()}` was"):
        long_runs.run("plain", checkpoint=Checkpoint(path), resume=True, **change)


def test_another_measure_of_held_out_cases_is_refused(path):
    held_out = copied_patterns(8, seed=1)
    first, second = (PredictionError(held_out, measure=m) for m in MEASURES)
    long_runs.run("plain", n_epochs=1, validation=first, checkpoint=Checkpoint(path))
    with pytest.raises(ValueError, match="and is PredictionError by log_loss"):
        long_runs.run(
            "plain", validation=second, checkpoint=Checkpoint(path), resume=True
        )


def test_settings_of_the_users_own_are_compared(path):
    long_runs.run("plain", n_epochs=1, checkpoint=Checkpoint(path, settings={"k": 1}))
    kept = Checkpoint(path, settings={"k": 2})
    with pytest.raises(ValueError, match="`k` was 1 and is 2"):
        long_runs.run("plain", checkpoint=kept, resume=True)


def test_a_kept_run_is_not_overwritten_by_mistake(path):
    long_runs.run("plain", n_epochs=1, checkpoint=Checkpoint(path))
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"already holds a run.*`resume`"):
        long_runs.run("plain", checkpoint=Checkpoint(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [({"every_seconds": -1.0}, "`every_seconds`"), ({"every_epochs": 0}, "at least 1")],
)
def test_wrong_intervals_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Checkpoint("kept.safetensors", **options)


def test_resuming_needs_a_checkpoint():
    with pytest.raises(ValueError, match="`resume` needs a `checkpoint`"):
        long_runs.run("plain", resume=True)


def test_a_rule_without_memory_needs_no_state(path):
    def rule(energy, batch, generator=None):
        return objectives.Perceptron()(energy, batch, generator)

    kept = Checkpoint(path, every_seconds=0)
    cut_short("plain", kept, 5, objective=rule)
    found = resume("plain", kept, objective=rule)
    expected = long_runs.run("plain", objective=rule)
    long_runs.assert_same(long_runs.outcome(*found), long_runs.outcome(*expected))
