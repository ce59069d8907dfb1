"""Classifiers whose training is broken off and resumed."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification

import crbm
from crbm import persistence
from crbm.training import Checkpoint, Interrupted

X, Y = make_multilabel_classification(40, 5, n_classes=3, random_state=0)
X = X.astype(np.float32)


def ensemble(folder=None, **options):
    """Three models, with all that draws from the one generator before and between."""
    options = {
        "n_hidden": 4,
        "n_estimators": 3,
        "n_epochs": 3,
        "batch_size": 12,
        "n_bits": 3,
        "early_stopping": True,
        "stop_by": "error",
        "input_dropout": 0.2,
        "optimizer": torch.optim.Adam,
        "random_state": 0,
        "checkpoint_dir": folder,
        **options,
    }
    return crbm.HashCRBMClassifier(**options)


def stopped_after(n_saves, monkeypatch, classifier):
    """Fit with a checkpoint after every update, interrupted at one of them."""
    n_done = 0

    def counting(self, run):
        nonlocal n_done
        self._save(run)
        n_done += 1
        if n_done == n_saves:
            raise Interrupted("stop")

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "after_update", counting)
        with pytest.raises(Interrupted):
            classifier.fit(X, Y)


def assert_same(found, expected):
    assert len(found.models_) == len(expected.models_)
    for ours, theirs in zip(found.models_, expected.models_, strict=True):
        for name, weight in theirs.state_dict().items():
            assert torch.equal(ours.state_dict()[name], weight)
    for ours, theirs in zip(found.histories_, expected.histories_, strict=True):
        assert (ours.loss, ours.validation) == (theirs.loss, theirs.validation)
    assert np.array_equal(found.predict_proba(X), expected.predict_proba(X))


# an epoch has three updates and a save of its own: in the first model, in the second,
# when the third has just begun
@pytest.mark.parametrize("n_saves", [5, 17, 25])
def test_a_resumed_ensemble_is_an_undisturbed_one(n_saves, tmp_path, monkeypatch):
    stopped_after(n_saves, monkeypatch, ensemble(tmp_path))
    resumed = ensemble(tmp_path, resume=True).fit(X, Y)
    assert_same(resumed, ensemble().fit(X, Y))
    names = {file.name.replace(".previous", "") for file in tmp_path.iterdir()}
    assert names == {f"model-{place}.safetensors" for place in range(3)}


def test_a_finished_fit_is_not_run_again(tmp_path):
    first = ensemble(tmp_path).fit(X, Y)
    again = ensemble(str(tmp_path), resume=True).fit(X, Y)
    assert_same(again, first)
    assert again.histories_ == first.histories_  # the times too


@pytest.mark.parametrize(
    "change",
    [
        {"n_bits": 2},
        {"input_dropout": 0.1},
        {"random_state": 1},
        {"validation_fraction": 0.2},
        {"stop_by": "log_loss"},
        {"optimizer": None},
    ],
)
def test_a_fit_with_other_parameters_is_refused(change, tmp_path):
    ensemble(tmp_path).fit(X, Y)
    name = next(iter(change))
    with pytest.raises(ValueError, match=f"another run: .*`{name}` was"):
        ensemble(tmp_path, resume=True, **change).fit(X, Y)


def test_a_checkpoint_of_before_is_not_refused(tmp_path):
    """None told what early stopping goes by, as there was but one way."""
    first = ensemble(tmp_path).fit(X, Y)
    kept = persistence.read(tmp_path / "model-0.safetensors")
    assert "stop_by" not in str(kept)
    assert_same(ensemble(tmp_path, resume=True).fit(X, Y), first)


def test_a_longer_fit_goes_on(tmp_path):
    short = {"n_estimators": 1, "n_epochs": 1}
    ensemble(tmp_path, **short).fit(X, Y)
    longer = ensemble(tmp_path, n_estimators=1, resume=True).fit(X, Y)
    assert_same(longer, ensemble(n_estimators=1).fit(X, Y))


def test_the_interval_between_checkpoints_is_that_asked_for(tmp_path, monkeypatch):
    found, start = [], Checkpoint.start

    def started(self, run):
        found.append(self.every_seconds)
        start(self, run)

    monkeypatch.setattr(Checkpoint, "start", started)
    ensemble(tmp_path, n_estimators=1, n_epochs=1, checkpoint_every=7).fit(X, Y)
    assert found == [7]


def test_partial_fit_keeps_no_checkpoint(tmp_path):
    ensemble(tmp_path, resume=True).partial_fit(X, Y).partial_fit(X, Y)
    assert list(tmp_path.iterdir()) == []


def test_the_seed_must_be_known():
    with pytest.raises(ValueError, match="`checkpoint_dir` needs a `random_state`"):
        ensemble("folder", random_state=None).fit(X, Y)
    with pytest.raises(ValueError, match="`resume` needs a `checkpoint_dir`"):
        ensemble(resume=True).fit(X, Y)


def test_parameters_survive_clone_and_stay_out_of_files(tmp_path):
    classifier = ensemble(tmp_path / "kept", progress=None)
    assert clone(classifier).get_params() == classifier.get_params()
    path = tmp_path / "model.safetensors"
    classifier.fit(X, Y).save(path)
    assert str(tmp_path).encode() not in path.read_bytes()
    _, description = persistence.read(path)
    assert not {"checkpoint_dir", "resume", "progress"} & set(description["parameters"])
    assert crbm.load(path).checkpoint_dir is None


def test_progress_is_silent_unless_asked_for(capsys):
    ensemble(n_estimators=1, n_epochs=1).fit(X, Y)
    assert capsys.readouterr().err == ""
    ensemble(n_estimators=1, n_epochs=1, progress=True).fit(X, Y)
    assert "epoch 1/1" in capsys.readouterr().err
