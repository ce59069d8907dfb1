"""Files that replace others whole, links that stay, and places to write to."""

import os
import shutil
import stat
from collections import namedtuple

import pytest

from crbm import paths
from crbm.messages import one_line


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "m.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    with paths.replacing(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_a_link_to_nothing_makes_the_file(tmp_path):
    target, link = tmp_path / "m.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    with paths.replacing(link) as draft:
        draft.write_text("new")
    assert target.read_text() == "new"


def test_permissions_of_a_replaced_file_stay(tmp_path):
    file = tmp_path / "m.csv"
    file.write_text("old")
    file.chmod(0o600)
    with paths.replacing(file) as draft:
        draft.write_text("new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_error_leaves_the_old_file_and_no_draft(tmp_path):
    file = tmp_path / "m.csv"
    file.write_text("old")
    with pytest.raises(UnicodeError), paths.replacing(file) as draft:
        draft.write_text("half \ud800")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_errors_name_the_file_and_not_the_draft(tmp_path):
    file = tmp_path / "m.csv"
    with pytest.raises(OSError, match="left") as raised, paths.replacing(file) as draft:
        raise OSError(28, "No space left on device", str(draft))
    assert raised.value.filename == str(file)
    with pytest.raises(OSError, match="left") as raised, paths.replacing(file):
        raise OSError(28, "No space left on device")  # of a file that is open
    assert raised.value.filename == str(file)


def test_places_that_cannot_be_written_are_told(tmp_path, monkeypatch):
    paths.check_writable(tmp_path / "m.csv")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match=r"folder `.*none` .* does not exist"):
        paths.check_writable(tmp_path / "none" / "m.csv")
    with pytest.raises(IsADirectoryError, match="is not a file"):
        paths.check_writable(tmp_path)

    def refuse(*args):
        raise PermissionError(13, "Permission denied", str(tmp_path / "mxyz.part"))

    with monkeypatch.context() as patched:
        patched.setattr(paths.tempfile, "mkstemp", refuse)
        with pytest.raises(PermissionError) as raised:
            paths.check_writable(tmp_path / "m.csv")
    assert raised.value.filename == str(tmp_path / "m.csv")
    usage = namedtuple("usage", "free")(1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match=r"0\.0 MB are free, at least 5\.0 MB are needed"):
        paths.check_writable(tmp_path / "m.csv", 5_000_000)


def test_pipes_and_folders_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="a pipe or a device; a table file is needed"):
        paths.require_file(tmp_path / "pipe", "table")
    with pytest.raises(ValueError, match="is a folder"):
        paths.require_file(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no data file"):
        paths.require_file(tmp_path / "none")


def test_text_of_files_cannot_act_on_a_terminal():
    text = one_line("a\x1b[31m\nb\u202e\ud800" + "x" * 5000)
    assert text.startswith("a\\x1b[31m b\\u202e\\ud800xxx")
    assert text.isprintable()
    assert len(text) <= 1003
