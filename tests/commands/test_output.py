"""Where results go: found out before the work, written whole, kept if it fails."""

import errno
import os
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest

import crbm
from crbm import paths, persistence
from crbm.commands import output, train
from planted import copied_patterns

DATA = copied_patterns(20)
X, Y = DATA.u.numpy(), DATA.v.numpy()


def no_permission(*args):
    raise PermissionError(errno.EACCES, "Permission denied", "draft.part")


def full_disk(*args):
    raise OSError(errno.ENOSPC, "No space left on device", "draft.part")


@pytest.mark.parametrize(
    "parameters", [{}, {"checkpoint_dir": "run"}], ids=["out", "checkpoint_dir"]
)
def test_a_folder_that_cannot_be_written_is_told_before_the_data_are_read(
    parameters, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(train, "load", lambda *args: pytest.fail("data were read"))
    if parameters:
        monkeypatch.setattr(train, "check_output_path", lambda *args, **options: None)
    monkeypatch.setattr(paths.tempfile, "mkstemp", no_permission)
    with pytest.raises(PermissionError) as raised:
        train.run("data.csv", Path("m.safetensors"), parameters=parameters)
    assert Path(raised.value.filename).name in ("m.safetensors", "model-0.safetensors")


def test_a_folder_is_not_replaced_by_a_model(tmp_path):
    folder = tmp_path / "m.safetensors"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match="is not a file"):
        output.check_output_path(folder, force=True, endings=(".safetensors",))


def test_a_model_that_cannot_be_saved_is_kept_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    fitted = crbm.LogisticClassifier(n_epochs=1, random_state=0).fit(X, Y)
    nowhere = tmp_path / "gone" / "m.safetensors"
    with pytest.raises(OSError, match="the trained model is in") as raised:
        output.save_or_keep(fitted, nowhere)
    kept = re.search(r"is in `(.*)`;", str(raised.value))[1]
    assert Path(kept).is_relative_to(tmp_path / "temporary")
    assert np.array_equal(crbm.load(kept).predict_proba(X), fitted.predict_proba(X))
    monkeypatch.setattr(persistence, "save_file", full_disk)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(OSError, match=r"No space left.*could not be saved elsewhere"):
        output.save_or_keep(fitted, tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == [tmp_path / "temporary"]  # nothing is left


@pytest.mark.parametrize("ending", [".csv", ".npz", ".parquet"])
def test_a_table_replaces_a_file_only_when_it_is_whole(ending, tmp_path, monkeypatch):
    path, link = tmp_path / f"there{ending}", tmp_path / f"link{ending}"
    link.symlink_to(path)
    column = output.Column("a", np.arange(3))
    output.write_table(link, [column], {"a": column.values})
    before = path.read_bytes()
    assert before
    assert link.is_symlink()
    monkeypatch.setattr(paths.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left") as raised:
        output.write_table(link, [column, column], {"b": column.values})
    assert raised.value.filename == str(link)
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, link.name])


def test_the_size_of_a_model_is_not_overestimated(tmp_path):
    from crbm.datasets import Dataset

    data = Dataset(X=X, Y=Y.astype(np.uint8))
    for name, kind in train.MODELS.items():
        options = {"members": ["forest"]} if name == "auto" else {"n_epochs": 1}
        classifier = kind(random_state=0, **options)
        classifier.fit(X, Y).save(tmp_path / "m.safetensors")
        size = (tmp_path / "m.safetensors").stat().st_size
        assert 0 < train.least_bytes(classifier, data) < size
