"""Damaged checkpoints, full disks and second processes: clear errors, nothing lost."""

import errno
import os
import shutil
from collections import namedtuple
from functools import partial

import pytest
import torch
from safetensors.torch import save_file

import crbm
import long_runs
from crbm import persistence
from crbm.training import Checkpoint
from long_runs import Cut, cut_short, resume


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new folder" / "kept.safetensors"


def truncated(path):
    path.write_bytes(path.read_bytes()[:-100])


def foreign(path):
    path.write_bytes(b"PK\x03\x04" + path.read_bytes()[4:])


def empty(path):
    path.write_bytes(b"")


def undescribed(path):
    save_file(persistence.read(path)[0], path)


def of_another_kind(path):
    tensors, description = persistence.read(path)
    persistence.write(path, tensors, {**description, "kind": "model"})


def without_place(path):
    tensors, description = persistence.read(path)
    del description["plain"]["n_updates"]
    persistence.write(path, tensors, description)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncated, "is not a checkpoint file of crbm, or it is damaged"),
        (foreign, "is not a checkpoint file of crbm, or it is damaged"),
        (empty, "is not a checkpoint file of crbm, or it is damaged"),
        (undescribed, "not a checkpoint of crbm"),
        (of_another_kind, "no checkpoint"),
        (without_place, "not a complete checkpoint: 'n_updates'"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(damage, message, path):
    long_runs.run("plain", n_epochs=1, checkpoint=Checkpoint(path))
    damage(path)
    with pytest.raises(ValueError, match=message) as raised:
        long_runs.run("plain", checkpoint=Checkpoint(path), resume=True)
    assert "\n" not in str(raised.value)


def test_a_checkpoint_is_no_classifier(path):
    long_runs.run("plain", n_epochs=1, checkpoint=Checkpoint(path))
    with pytest.raises(ValueError, match="does not hold a whole classifier"):
        crbm.load(path)


def full_disk(*args):
    raise OSError(errno.ENOSPC, "No space left on device", "draft")


def test_a_full_disk_leaves_the_checkpoint_before_and_the_run_goes_on(
    path, monkeypatch
):
    kept = Checkpoint(path, every_seconds=0)
    cut_short("plain", kept, 5)
    before = path.read_bytes()
    monkeypatch.setattr(persistence, "save_file", full_disk)
    with pytest.warns(RuntimeWarning, match=r"kept.*No space left.*Training continues"):
        found = resume("plain", kept)
    assert path.read_bytes() == before
    assert sorted(path.parent.iterdir()) == sorted([path, kept.previous])
    expected = long_runs.outcome(*long_runs.run("plain"))
    long_runs.assert_same(long_runs.outcome(*found), expected)


def test_a_disk_that_is_full_already_is_told_before_the_first_update(path, monkeypatch):
    usage = namedtuple("usage", "free")(100)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match=r"disk of `.*new folder` is full"):
        long_runs.run("plain", checkpoint=Checkpoint(path), augment=never)


def never(batch, generator):
    raise AssertionError("an update was made")


def test_a_second_run_is_refused_with_the_process_of_the_first(path):
    def start_another(place, epoch):
        with pytest.raises(OSError, match=rf"in use by process {os.getpid()} on"):
            long_runs.run("plain", checkpoint=Checkpoint(path), resume=True)

    long_runs.run(
        "plain", n_epochs=1, checkpoint=Checkpoint(path), callback=start_another
    )
    assert list(path.parent.iterdir()) == [path]


def test_the_lock_of_a_dead_process_is_no_obstacle(path):
    path.parent.mkdir()
    lock = path.with_name(f"{path.name}.lock")
    lock.write_text("4194304 elsewhere")
    long_runs.run("plain", n_epochs=1, checkpoint=Checkpoint(path))
    assert not lock.exists()


def flipped(path):
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)


def with_state(change, path):
    """The checkpoint with its optimiser's state changed, and a digest that fits."""
    tensors, description = persistence.read(path)
    change(tensors, description["plain"])
    persistence.write(path, tensors, description)


STATES = {
    "a flipped bit": flipped,
    "no moment": partial(with_state, lambda t, p: t.pop("optimizer/state/0/exp_avg")),
    "no state": partial(
        with_state,
        lambda t, p: [t.pop(name) for name in list(t) if "optimizer/state" in name],
    ),
    "a moment of another shape": partial(
        with_state, lambda t, p: t.update({"optimizer/state/0/exp_avg": torch.ones(3)})
    ),
    "a group of text": partial(
        with_state, lambda t, p: p["optimizer/param_groups"][0].update(betas="x")
    ),
    "weights of another type": partial(
        with_state, lambda t, p: t.update({"weights/bias_v": torch.ones(6).double()})
    ),
    "half a generator": partial(
        with_state, lambda t, p: t.update({"random/now": torch.ones(9).byte()})
    ),
    "a count that is none": partial(with_state, lambda t, p: p.update(n_updates=-1)),
    "a huge number": partial(with_state, lambda t, p: p.update(total_loss=10**400)),
    "epochs that are none": partial(
        with_state, lambda t, p: p.update({"history/epochs": [{"loss": "low"}]})
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_a_damaged_checkpoint_gives_way_to_the_one_before(name, path):
    kept = Checkpoint(path, every_seconds=0)
    cut_short("adam", kept, 6)
    STATES[name](path)
    with pytest.warns(RuntimeWarning, match=r"continues from `.*kept\.previous\."):
        found = resume("adam", kept)
    expected = long_runs.outcome(*long_runs.run("adam"))
    long_runs.assert_same(long_runs.outcome(*found), expected)
    assert path.with_name("kept.damaged.safetensors").exists()


def test_without_a_whole_one_the_damage_is_told_before_training(path):
    kept = Checkpoint(path, every_seconds=0)
    cut_short("adam", kept, 6)
    for file in (path, kept.previous):
        STATES["no moment"](file)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"is not a complete checkpoint: .*exp_avg"):
        resume("adam", kept, augment=Cut("adam", 0))
    assert path.read_bytes() == before


def test_stored_chains_of_another_model_are_refused(path):
    kept = Checkpoint(path, every_seconds=0)
    cut_short("persistent", kept, 3)
    for file in (path, kept.previous):
        with_state(lambda t, p: t.update({"objective/0": torch.ones(16, 5)}), file)
    with pytest.raises(ValueError, match="stored chains are not states of this model"):
        resume("persistent", kept)


def test_drafts_of_killed_runs_are_cleared_away(path):
    path.parent.mkdir()
    (path.parent / f"{path.name}abc.part").write_bytes(b"half")
    other = path.parent / "notes.part"
    other.write_bytes(b"mine")
    long_runs.run("plain", n_epochs=1, checkpoint=Checkpoint(path))
    assert sorted(path.parent.iterdir()) == sorted([path, other])
