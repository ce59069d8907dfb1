"""Progress: silent without a terminal, a bar on one, a line per epoch if asked for."""

import contextlib
import os
import pty
import re
import sys

import pytest

import crbm
import long_runs
from crbm import objectives
from crbm.training import Checkpoint, Epoch, progress
from crbm.training.run import Run
from crbm.training.update import make_update


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    """No variable that talks rich into or out of a terminal."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def on_terminal(**options):
    """What a run writes to a real terminal as stderr, and its history."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stderr, pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stderr", stderr)
        _, history = long_runs.run("plain", **options)
    return everything(ours).decode(), history


def everything(terminal):
    """What has been written to the other end of a terminal, which is closed by now."""
    parts = []
    ends = contextlib.suppress(OSError)  # how Linux tells of a terminal's end
    with os.fdopen(terminal, "rb", buffering=0) as stream, ends:
        while part := stream.read(4096):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("wanted", [None, False])
def test_silent_without_a_terminal(wanted, capfd):
    long_runs.run("plain", progress=wanted)
    assert capfd.readouterr() == ("", "")


def test_a_line_per_epoch_where_asked_for(capsys):
    _, history = long_runs.run("adam", n_epochs=3, progress=True)
    told = capsys.readouterr()
    assert told.out == ""
    lines = told.err.splitlines()
    assert len(lines) == 3
    for place, (line, epoch) in enumerate(zip(lines, history.epochs, strict=True)):
        assert line.startswith(f"epoch {place + 1}/3  loss {epoch.loss:.4g}  ")
        assert f"validation error {epoch.validation:.4g}  " in line
        assert re.search(r"  [\d,]+ cases/s  \d:\d\d:\d\d left$", line)


@pytest.fixture
def _at_once(monkeypatch):
    """Short runs get a bar too."""
    monkeypatch.setattr(progress, "SECONDS_BEFORE", 0.0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0.0)


@pytest.mark.usefixtures("_at_once")
def test_a_bar_on_a_terminal():
    shown, history = on_terminal(n_epochs=2)
    assert "epoch 1/2" in shown
    assert "epoch 2/2" in shown
    assert f"loss {history.loss[-1]:.4g}" in shown
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")  # the cursor is back


@pytest.mark.usefixtures("_at_once")
def test_no_bar_where_it_is_not_wanted():
    assert on_terminal(n_epochs=1, progress=False)[0] == ""


def test_short_runs_show_no_bar(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BEFORE", 60.0)
    assert "epoch" not in on_terminal(n_epochs=1)[0]


def standing(n_epochs, n_seen, n_cases=100):
    """A run at a given place, with a loss of 0.5 so far."""
    model = crbm.CRBM(1, 1, 1)
    update = make_update(model, None, 1.0, 0.0)
    run = Run(model, objectives.Perceptron(), update, n_epochs_total=4, n_cases=n_cases)
    run.history.epochs.extend([Epoch(0.5, None, 1.0)] * n_epochs)
    run.n_seen = n_seen
    run.total_loss.fill_(0.5 * n_seen)
    return run


def test_pace_and_time_left_count_from_where_the_run_was_resumed(monkeypatch):
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    pace = progress.Pace(standing(2, 50))
    now = 10.0
    line = pace.line(standing(3, 0))  # 50 cases in 10 seconds, 100 are left
    assert line == "epoch 3/4  loss 0.5  5 cases/s  0:00:20 left"
    assert pace.epochs_done(standing(3, 25)) == 3.25


def test_a_stream_shows_no_time_left_before_its_length_is_known():
    pace = progress.Pace(standing(0, 0, None))
    line = pace.line(standing(0, 10, None))
    assert line.startswith("epoch 1/4  loss 0.5  ")
    assert line.endswith(" cases/s")


def test_a_resumed_run_is_shown_from_its_place(tmp_path, capsys):
    kept = Checkpoint(tmp_path / "kept.safetensors")
    long_runs.run("plain", n_epochs=2, checkpoint=kept)
    long_runs.run("plain", n_epochs=3, checkpoint=kept, resume=True, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["epoch 3/3"]
